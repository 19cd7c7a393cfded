import sys
from tokenizers import decoders, pre_tokenizers, processors
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

folder, file, into = sys.argv[1:]
AutoModelForCausalLM.from_pretrained(folder, gguf_file=file).save_pretrained(into)
read = AutoTokenizer.from_pretrained(folder, gguf_file=file)
tokens = read.backend_tokenizer  # the metadata of tokens outside of the vocabulary is incomplete
tokens.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
tokens.decoder, tokens.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=False)
PreTrainedTokenizerFast(tokenizer_object=tokens, bos_token="<|im_start|>", eos_token="<|im_end|>", chat_template=read.chat_template).save_pretrained(into)
