// Package code writes fixes in Python, on PyTorch and on the libraries that
// people load models with.
package code

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Steps are the fixes that are lines of code there.
var Steps = map[string]func(*ledger.Case) []step.Step{
	"expandable_segments": func(c *ledger.Case) []step.Step { return AllocConf(c, "expandable_segments:True") },
	"max_split_size":      func(c *ledger.Case) []step.Step { return AllocConf(c, "max_split_size_mb:128") },
	"raise_watermark": func(c *ledger.Case) []step.Step {
		return []step.Step{step.Environ(c, "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0")}
	},
	"empty_cache": step.Paste("python", `import gc, torch

def show(when):
    print(f"{when}: allocated {torch.cuda.memory_allocated() / 2**30:.2f} GiB, reserved {torch.cuda.memory_reserved() / 2**30:.2f} GiB")

show("before")
model = outputs = optimizer = None   # every name that still holds the old work
gc.collect()
torch.cuda.empty_cache()
show("after")`),
	"gradient_checkpointing": stepsCheckpointing,
	"gradient_accumulation": step.Paste("python", `steps = 8
for i, batch in enumerate(loader):          # batch size divided by 8
    loss = model(**batch).loss / steps
    loss.backward()
    if (i + 1) % steps == 0:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)`),
	"mixed_precision": func(c *ledger.Case) []step.Step {
		if c.Backend == "mps" {
			return []step.Step{{Kind: "python", Text: "with torch.autocast(\"mps\", dtype=torch.float16):   # PyTorch 2.5 and later\n    loss = model(**batch).loss"}}
		}
		return []step.Step{{Kind: "python", Text: `half = ` + halfType(c) + `
scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)
with torch.autocast("cuda", dtype=half):
    loss = model(**batch).loss
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()`}}
	},
	"inference_mode": step.Paste("python", `model.eval()
with torch.inference_mode():
    output = model(**inputs)`),
	"detach_accumulated": step.Paste("python", `total += loss.item()                        # not: total += loss
results.append(output.detach().cpu())       # not: results.append(output)`),
	"optimizer_8bit": step.Paste("python", `import bitsandbytes as bnb

optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=2e-5)   # with the Trainer: optim="adamw_bnb_8bit"`),
	"use_lora": step.Paste("python", `from peft import LoraConfig, get_peft_model

model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
model.print_trainable_parameters()`),
	"offload_optimizer": step.Paste("config", `{
  "zero_optimization": {
    "stage": 2,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  },
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 8,
  "bf16": {"enabled": true}
}`),
	"shard_training": func(*ledger.Case) []step.Step {
		return []step.Step{
			{Kind: "config", Text: "# accelerate config file\ndistributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true"},
			{Kind: "shell", Text: "accelerate launch --config_file fsdp.yaml train.py"},
		}
	},
	"efficient_attention":    stepsEfficientAttention,
	"enable_flash_attention": stepsFlashAttention,
	"half_precision": func(c *ledger.Case) []step.Step {
		return []step.Step{fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`)}
	},
	"load_in_4bit": func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "pip install -U bitsandbytes accelerate"}, fromPretrained(c,
			"config = BitsAndBytesConfig(\n    load_in_4bit=True,\n    bnb_4bit_quant_type=\"nf4\",\n    bnb_4bit_use_double_quant=True,\n    bnb_4bit_compute_dtype="+halfType(c)+",\n)\n",
			"quantization_config=config", `device_map="auto"`)}
	},
	"load_in_8bit": func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "pip install -U bitsandbytes accelerate"}, fromPretrained(c, "", "quantization_config=BitsAndBytesConfig(load_in_8bit=True)", `device_map="auto"`)}
	},
	"cpu_offload": func(c *ledger.Case) []step.Step {
		return []step.Step{fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`, maxMemory(c))}
	},
	"multi_gpu": func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=0,1"}, fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`)}
	},
	"quantize_kv_cache": stepsKVCache,
	"balance_split":     stepsBalance,
	"lowvram_mode":      step.Paste("python", "pipe.enable_model_cpu_offload()   # instead of pipe.to(\"cuda\"); enable_sequential_cpu_offload() needs the least memory and is slow"),
	"vae_tiling":        step.Paste("python", "pipe.vae.enable_tiling()\npipe.vae.enable_slicing()   # for several images at a time"),
	"lower_num_workers": stepsWorkers,
}

func stepsCheckpointing(c *ledger.Case) []step.Step {
	reentrant := ", use_reentrant=False"
	if since, _ := c.Fact("torch_since"); since.Text == "1.0" || since.Text == "1.4" {
		reentrant = "" // came with 1.11
	}
	own := step.Step{Kind: "python", Text: "from torch.utils.checkpoint import checkpoint\n\nx = checkpoint(self.block, x" + reentrant + ")   # in forward(), for each large block, instead of x = self.block(x)"}
	trainer := step.Step{Kind: "python", Text: "model.gradient_checkpointing_enable()   # transformers; with its Trainer: gradient_checkpointing=True\nmodel.config.use_cache = False"}
	switch {
	case c.In("transformers"):
		return []step.Step{trainer}
	case c.In("pytorch"):
		return []step.Step{own, trainer}
	}
	return []step.Step{trainer, own}
}

func stepsEfficientAttention(c *ledger.Case) []step.Step {
	library := fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`, `attn_implementation="sdpa"`)
	fused := step.Step{Kind: "python", Text: "out = torch.nn.functional.scaled_dot_product_attention(q, k, v)   # PyTorch 2; instead of softmax(q @ k.T / sqrt(d)) @ v"}
	if ledger.ReturnsWeights(c) {
		return []step.Step{{Kind: "python", Text: "out, _ = attention(q, k, v, need_weights=False)   # nn.MultiheadAttention (PyTorch 2) then stores no matrix"}, {Kind: "python", Text: "# any version: 256 queries at a time\nout = torch.cat([attention(part, k, v)[0] for part in q.split(256, dim=1)], dim=1)   # batch_first=True"}}
	}
	if ledger.WritesScores(c) {
		return []step.Step{fused, {Kind: "python", Text: "# any version: 256 queries at a time\nparts = [torch.softmax(part @ k.transpose(-2, -1) * k.shape[-1] ** -0.5, -1) @ v for part in q.split(256, dim=-2)]\nout = torch.cat(parts, dim=-2)"}}
	}
	if !mayLoad(c) {
		return []step.Step{fused}
	}
	return []step.Step{fused, library}
}

// mayLoad: a language model of transformers may be there.
func mayLoad(c *ledger.Case) bool {
	return c.Says("transformers") || c.Operation != "projection" || strings.HasPrefix(c.Reader.Work, "text")
}

func stepsFlashAttention(c *ledger.Case) []step.Step {
	if !mayLoad(c) {
		return nil
	}
	return []step.Step{fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`, `attn_implementation="sdpa"   # or "flash_attention_2" with the flash-attn package`)}
}

// maxMemory is the max_memory argument: the card's share, measured where the
// log does not say how large it is, and as much RAM as the rest needs.
func maxMemory(c *ledger.Case) string {
	ram := int64(24)
	if z, ok := ledger.SizingOf(c); ok {
		if weights, ok := ledger.WeightsIn(c, z.Format); ok {
			ram = max(ledger.CeilDiv(weights-CardShare(c), units.GiB)+2, 4)
		}
	}
	if t := c.F().Total; t != nil && ledger.OnCard(c) {
		return fmt.Sprintf("max_memory={%d: \"%dGiB\", \"cpu\": \"%dGiB\"}", ledger.GPU(c), CardShare(c)/units.GiB, ram)
	}
	return fmt.Sprintf("max_memory={%d: torch.cuda.mem_get_info(%d)[0] - 3 * 2**29, \"cpu\": \"%dGiB\"}   # what is free, minus 1.5 GiB", ledger.GPU(c), ledger.GPU(c), ram)
}

func stepsKVCache(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "python", Text: "output = model.generate(**inputs, cache_implementation=\"quantized\", cache_config={\"backend\": \"quanto\", \"nbits\": 4})   # 4 bit (quanto has no 8); pip install optimum-quanto"}}
}

func stepsBalance(c *ledger.Case) []step.Step {
	if c.Training() {
		return []step.Step{{Kind: "python", Text: "import os, torch\n\ntorch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))   # before anything touches a GPU\ncheckpoint = torch.load(path, map_location=\"cpu\")      # not onto GPU 0"}}
	}
	full, other := ledger.GPU(c), ledger.OtherGPU(c)
	share := int64(5)
	if t := c.F().Total; t != nil {
		share = max(t.Bytes*3/5/units.GiB, 1)
	}
	return []step.Step{fromPretrained(c, "", `device_map="auto"`, fmt.Sprintf("max_memory={%d: \"%dGiB\", %d: \"%dGiB\"}", full, share, other, max(share*3/2, share+1)))}
}

func stepsWorkers(c *ledger.Case) []step.Step {
	if c.Signal("pinning") != nil {
		return []step.Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, pin_memory=False)   # what failed was pinning; then fewer num_workers"}}
	}
	return []step.Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=0, pin_memory=False)   # then 2, if that works"}}
}

// CardShare is how much of the card weights may take, in whole GiB: all of it
// less what others hold, and less room for the piece that failed, 1.25 GiB at
// least.
func CardShare(c *ledger.Case) int64 {
	f := c.F()
	if f.Total == nil {
		return 0
	}
	beside := units.GiB * 5 / 4
	if f.Requested != nil {
		beside = max(beside, f.Requested.Bytes+ledger.DriverContext)
	}
	if c.Others.Has() && c.Others.Bytes > ledger.DriverContext {
		beside += c.Others.Bytes - ledger.DriverContext
	}
	return max((f.Total.Bytes-beside)/units.GiB, 1) * units.GiB
}
