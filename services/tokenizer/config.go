package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Config has the settings of tokenizer_config.json that affect prompts and token
// counts.
type Config struct {
	// BOS, EOS, PAD and UNK are the strings of special tokens, or "" if unset.
	BOS, EOS, PAD, UNK string
	// AddBOS and AddEOS report whether the tokens BOS and EOS are added to a
	// text. If a field is nil, tokenizer_config.json doesn't set it and
	// tokenizer.json decides.
	AddBOS, AddEOS *bool
	// MaxLength is the maximum number of tokens of the model. It is 0 if the file
	// has no number or a number that means no limit.
	MaxLength int
	// Class is transformers' name of the tokenizer class.
	Class string
}

// endless is the threshold from which model_max_length means no limit:
// transformers writes 1e30 in that case.
const endless = 1 << 40

// LoadConfig reads tokenizer_config.json of a folder. It returns the zero Config
// if the file doesn't exist.
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

// tokenText is a token, written as a string or as an object with its content.
type tokenText string

// UnmarshalJSON reads both forms. It reads null as "".
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
