"""A reward model: a transformer with a new head, trained on pairs by TRL."""
import json
import logging
import os
import sys
import warnings

os.environ["TOKENIZERS_PARALLELISM"] = "false"
warnings.filterwarnings("ignore")

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForSequenceClassification, GPT2Config, GPT2Model, PreTrainedTokenizerFast, set_seed
from transformers.utils import logging as hf_logging
from trl import RewardConfig, RewardTrainer

hf_logging.set_verbosity_error()
WORDS = "[PAD] [UNK] <end> good bad answer fine poor yes no".split()


def base_model(folder):
    set_seed(0)
    config = GPT2Config(vocab_size=len(WORDS), n_positions=16, n_embd=16, n_layer=1, n_head=2, pad_token_id=0,
                        bos_token_id=2, eos_token_id=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    GPT2Model(config).save_pretrained(folder)
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", eos_token="<end>", unk_token="[UNK]")
    tokenizer.save_pretrained(folder)
    import torch

    torch.seed()
    return tokenizer


def main(out):
    tokenizer = base_model(out + "/base")
    model = AutoModelForSequenceClassification.from_pretrained(out + "/base", num_labels=1)
    pairs = [{"chosen": f"good {word}", "rejected": f"bad {word}"} for word in WORDS[5:]] * 4
    config = RewardConfig(
        output_dir=out + "/trainer", seed=42, report_to="none", use_cpu=True, logging_steps=1, max_steps=6, bf16=False,
        per_device_train_batch_size=4, save_strategy="no", disable_tqdm=True, gradient_checkpointing=False,
        learning_rate=1e-2,
    )
    trainer = RewardTrainer(model=model, args=config, train_dataset=Dataset.from_list(pairs), processing_class=tokenizer)
    trainer.train()
    with open(out + "/metrics.jsonl", "w") as log:
        for row in trainer.state.log_history:
            if "loss" in row:
                log.write(json.dumps({"step": row["step"], "loss": row["loss"]}) + "\n")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    main(sys.argv[1])
