package fix

var vaeTiling = Fix{
	ID:       "vae_tiling",
	Title:    "Decode the image in tiles",
	Tradeoff: "A little time; faint seams are possible.",
	Cost:     cheap,
	Check:    "The picture is finished; the peak after the last sampling step is lower.",
	Next:     "A smaller tile, the VAE at 16 bit, or on the processor.",
	Needs:    Needs{works: []string{"image-generation", "video-generation"}, branch: "Pictures or video", told: "decode the latent in tiles."},
	Told:     "Decode the picture in tiles, if your program has a setting for it.",
}
