package serving

// LimitResults changes the maximum number of values of the results of a request to an encoder.
func LimitResults(s *Service, most int64) { s.encoders.maxValues = most }
