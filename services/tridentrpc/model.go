package tridentrpc

import (
	"cmp"
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// modelService implements ModelService.
type modelService struct{ *Service }

// List returns the models.
func (s modelService) List(ctx context.Context, msg *tridentv1.ModelServiceListRequest) (*tridentv1.ModelServiceListResponse, error) {
	answer := &tridentv1.ModelServiceListResponse{}
	known := s.core.Catalog().Known(ctx)
	for _, card := range known.Cards {
		if listed(card, msg.GetAll()) {
			answer.Models = append(answer.Models, s.info(ctx, known, card))
		}
	}
	return answer, nil
}

// listed reports whether a model belongs to the list; all includes models that aren't
// listed by default.
func listed(card *catalog.Card, all bool) bool { return card.Listed() || all && !card.Hidden }

// Get returns one model.
func (s modelService) Get(ctx context.Context, msg *tridentv1.ModelServiceGetRequest) (*tridentv1.ModelServiceGetResponse, error) {
	known := s.core.Catalog().Known(ctx)
	for _, card := range known.Cards {
		if known.Name(card) == msg.GetModel() || slices.Contains(known.Names(card), msg.GetModel()) {
			return &tridentv1.ModelServiceGetResponse{Model: s.info(ctx, known, card)}, nil
		}
	}
	named, err := s.core.Catalog().Model(ctx, msg.GetModel()) // this queries the engines
	if err != nil {
		return nil, err
	}
	return &tridentv1.ModelServiceGetResponse{Model: s.info(ctx, s.core.Catalog().Known(ctx), named.Card)}, nil
}

// Watch sends all models and then the changes.
func (s modelService) Watch(ctx context.Context, msg *tridentv1.ModelServiceWatchRequest, stream *connect.ServerStream[tridentv1.ModelServiceWatchResponse]) error {
	watch := s.core.Catalog().Watch(ctx)
	defer watch.Close()
	keepAlive := time.NewTicker(keepAliveInterval)
	defer keepAlive.Stop()
	shown := map[string]shownModel{}
	for first := true; ; {
		var change *tridentv1.ModelServiceWatchResponse
		select {
		case <-watch.Updates():
			change = s.changes(ctx, watch.Next(), shown, msg.GetAll())
			if !first && len(change.GetModels())+len(change.GetRemoved()) == 0 {
				continue
			}
		case <-keepAlive.C:
			change = &tridentv1.ModelServiceWatchResponse{} // keep-alive
		case <-ctx.Done():
			return s.stopped(ctx)
		case <-s.core.Admission().Draining():
			return s.stopped(ctx)
		}
		if err := send(stream, change); err != nil {
			return err
		}
		first = false
		keepAlive.Reset(keepAliveInterval)
	}
}

// shownModel is the state of a model as last sent to a watcher.
type shownModel struct {
	card  *catalog.Card
	names []string
}

// changes returns the changes since the last call and records in shown that they were
// sent.
func (s modelService) changes(ctx context.Context, known *catalog.Known, shown map[string]shownModel, all bool) *tridentv1.ModelServiceWatchResponse {
	change := &tridentv1.ModelServiceWatchResponse{}
	here := map[string]bool{}
	for _, card := range known.Cards {
		if !listed(card, all) {
			continue
		}
		name, names := known.Name(card), known.Names(card)
		here[name] = true
		if old, sent := shown[name]; sent && old.card == card && slices.Equal(old.names, names) {
			continue
		}
		shown[name] = shownModel{card, names}
		change.Models = append(change.Models, s.info(ctx, known, card))
	}
	for name := range shown {
		if !here[name] {
			delete(shown, name)
			change.Removed = append(change.Removed, name)
		}
	}
	slices.Sort(change.GetRemoved())
	return change
}

// Load loads a model.
func (s modelService) Load(ctx context.Context, msg *tridentv1.ModelServiceLoadRequest) (*tridentv1.ModelServiceLoadResponse, error) {
	card, err := s.core.LoadModel(ctx, msg.GetModel())
	if err != nil {
		return nil, err
	}
	return &tridentv1.ModelServiceLoadResponse{Model: s.info(ctx, s.core.Catalog().Known(ctx), card)}, nil
}

// Unload unloads a model.
func (s modelService) Unload(ctx context.Context, msg *tridentv1.ModelServiceUnloadRequest) (*tridentv1.ModelServiceUnloadResponse, error) {
	if err := s.core.UnloadModel(ctx, msg.GetModel()); err != nil {
		return nil, err
	}
	return &tridentv1.ModelServiceUnloadResponse{}, nil
}

// info returns the description of a model.
func (s modelService) info(ctx context.Context, known *catalog.Known, card *catalog.Card) *tridentv1.ModelInfo {
	info := &tridentv1.ModelInfo{
		Name: known.Name(card), Aliases: known.Names(card), Version: card.Version, Versions: card.Versions,
		State: modelState(card), Reason: card.Reason, Created: timestamppb.New(card.Loaded.Truncate(time.Second)),
	}
	if s.core.Catalog().Controllable(ctx, card.Engine) {
		info.UnloadAllowed = card.State == inference.ModelReady
		info.LoadAllowed = card.State == inference.ModelNeverLoaded || card.State == inference.ModelUnavailable && !card.Recovering
	}
	if card.State != inference.ModelReady {
		return info
	}
	info.Kind, info.Backend = card.Kind(), cmp.Or(card.Config.GetBackend(), card.Config.GetPlatform())
	info.Tasks, info.ContextLength = tasks(card), uint32(card.ContextLength)
	info.Loras, info.SystemFingerprint, info.Fetching = card.LoRAs, card.Fingerprint, card.Fetching
	if card.Tasks&inference.TaskGenerate != 0 {
		info.Features, info.Defaults = features(ctx, card), s.defaults(card)
	}
	return info
}

func modelState(card *catalog.Card) tridentv1.ModelState {
	switch {
	case card.Recovering:
		return tridentv1.ModelState_MODEL_STATE_RECOVERING
	case card.State == inference.ModelNeverLoaded:
		return tridentv1.ModelState_MODEL_STATE_NOT_LOADED
	case card.State == inference.ModelLoading:
		return tridentv1.ModelState_MODEL_STATE_LOADING
	case card.State == inference.ModelReady:
		return tridentv1.ModelState_MODEL_STATE_READY
	case card.State == inference.ModelUnloading:
		return tridentv1.ModelState_MODEL_STATE_UNLOADING
	case card.State == inference.ModelUnavailable:
		return tridentv1.ModelState_MODEL_STATE_UNAVAILABLE
	}
	return tridentv1.ModelState_MODEL_STATE_UNSPECIFIED
}

func tasks(card *catalog.Card) []tridentv1.ModelTask {
	var list []tridentv1.ModelTask
	if card.Tasks&inference.TaskGenerate != 0 {
		list = append(list, tridentv1.ModelTask_MODEL_TASK_COMPLETE)
		if card.Template != nil {
			list = append(list, tridentv1.ModelTask_MODEL_TASK_CHAT)
		}
	}
	if card.Tasks&inference.TaskEmbed != 0 {
		list = append(list, tridentv1.ModelTask_MODEL_TASK_EMBED)
	}
	if card.Tasks&inference.TaskScore != 0 {
		list = append(list, tridentv1.ModelTask_MODEL_TASK_SCORE)
	}
	if card.Tasks&inference.TaskClassify != 0 {
		list = append(list, tridentv1.ModelTask_MODEL_TASK_CLASSIFY)
	}
	return append(list, tridentv1.ModelTask_MODEL_TASK_INFER)
}

func features(ctx context.Context, card *catalog.Card) *tridentv1.ModelFeatures {
	extras, chats := card.Backend.Extras(card.Config), card.Template != nil
	f := &tridentv1.ModelFeatures{
		Streaming: card.Config.GetModelTransactionPolicy().GetDecoupled(),
		Tools:     chats && card.ToolParser != "", Reasoning: chats && card.ReasoningParser != "",
		Images: card.SeesImages(ctx), Logprobs: extras.Logprobs, TopLogprobs: extras.TopLogprobs,
		StructuredOutput: extras.Structured, TokenIds: card.Tokenizer != nil,
	}
	if f.GetImages() && card.Images.Most != inference.AnyImages {
		f.MaxImages = uint32(card.Images.Most)
	}
	return f
}

func (s modelService) defaults(card *catalog.Card) *tridentv1.SamplingDefaults {
	d := s.core.Defaults(card)
	return &tridentv1.SamplingDefaults{
		MaxTokens: toUint(d.MaxTokens), Temperature: d.Temperature, TopP: d.TopP, TopK: toUint(d.TopK), MinP: d.MinP,
		PresencePenalty: d.PresencePenalty, FrequencyPenalty: d.FrequencyPenalty, RepetitionPenalty: d.RepetitionPenalty,
	}
}

func toUint(p *int) *uint32 {
	if p == nil {
		return nil
	}
	return new(uint32(*p))
}
