package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Config is what tokenizer_config.json says beside the vocabulary, of what
// matters to prompts and counts.
type Config struct {
	// BOS, EOS, PAD and UNK are texts of special tokens, "" where unset.
	BOS, EOS, PAD, UNK string
	// AddBOS and AddEOS are whether a text gets those tokens; nil where the file
	// does not say, and tokenizer.json does.
	AddBOS, AddEOS *bool
	// MaxLength is how many tokens the model takes, 0 where the file says none or
	// a number that stands for none.
	MaxLength int
	// Class is transformers' name of the tokenizer's kind.
	Class string
}

// endless is where model_max_length stops being a length: transformers writes
// 1e30 for none.
const endless = 1 << 40

// LoadConfig reads tokenizer_config.json of a folder. A folder without one has
// the zero Config.
func LoadConfig(folder fs.FS) (Config, error) {
	data, err := fs.ReadFile(folder, "tokenizer_config.json")
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, err
	}
	config, err := ParseConfig(data)
	if err != nil {
		return Config{}, fmt.Errorf("tokenizer_config.json: %w", err)
	}
	return config, nil
}

// ParseConfig reads the content of a tokenizer_config.json.
func ParseConfig(data []byte) (Config, error) {
	var file struct {
		BOS       tokenText `json:"bos_token"`
		EOS       tokenText `json:"eos_token"`
		PAD       tokenText `json:"pad_token"`
		UNK       tokenText `json:"unk_token"`
		AddBOS    *bool     `json:"add_bos_token"`
		AddEOS    *bool     `json:"add_eos_token"`
		MaxLength *float64  `json:"model_max_length"`
		Class     string    `json:"tokenizer_class"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Config{}, err
	}
	config := Config{
		BOS: string(file.BOS), EOS: string(file.EOS), PAD: string(file.PAD), UNK: string(file.UNK),
		AddBOS: file.AddBOS, AddEOS: file.AddEOS, Class: file.Class,
	}
	if n := file.MaxLength; n != nil && *n > 0 && *n < endless {
		config.MaxLength = int(*n)
	}
	return config, nil
}

// tokenText is a token written as a string or as an object with its content.
type tokenText string

// UnmarshalJSON takes both forms, and null as none.
func (t *tokenText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var object struct {
			Content string `json:"content"`
		}
		err := json.Unmarshal(data, &object)
		*t = tokenText(object.Content)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}
