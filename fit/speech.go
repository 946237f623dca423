package fit

// speechFormats are what faster-whisper calls compute types.
var speechFormats = []string{"fp16", "int8"}

// needSpeech sizes Whisper as faster-whisper runs it, with five beams: the caches
// of the decoder for each, and working memory that grows with the width: 0.9 GiB
// for the large models, from the totals that faster-whisper publishes (4.5 GB for
// large-v2 in fp16, 2.9 in int8).
func (z sized) needSpeech(s Setting) (Need, error) {
	const beams = 5
	kv, err := z.KV(KVOptions{Context: z.Context, exactCells: true, EncoderTokens: int(z.EncoderPositions)})
	if err != nil {
		return Need{}, err
	}
	n := Need{
		Weights: z.w.Total, KV: beams * int64(s.Parallel) * kv.Full, Overhead: s.driver(), Layers: 1, Total: 1,
		Compute: int64(s.Parallel) * (500*MiB + z.Hidden*350*1024),
	}
	n.KV += int64(s.Parallel) * kv.Cross
	n.Reserve = s.reserve(roundMiB(n.Sum() / 10))
	return n, nil
}

// speechCall loads Whisper in Python.
func speechCall(m *Model, row Row) string {
	kind := map[string]string{"fp16": "float16", "int8": "int8_float16"}[row.Format]
	if m == nil || kind == "" {
		return ""
	}
	return `model = WhisperModel("` + m.ID[len("whisper-"):] + `", device="cuda", compute_type="` + kind + `")`
}
