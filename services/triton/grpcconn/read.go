package grpcconn

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/net/http2"
)

// headerSize is the size of a frame's header, in bytes (RFC 9113, section 4.1).
const headerSize = 9

// read handles the server's frames until the connection ends.
func (c *Conn) read() {
	for {
		if !c.frameBuffered() {
			c.wakeConsumers()
		}
		frame, err := c.frames.ReadFrame()
		if err == nil {
			err = c.handle(frame)
		}
		if err != nil && !c.resetStream(err) {
			c.endRead(err)
			return
		}
	}
}

// resetStream ends the stream of an error that is one stream's, and reports whether it is one.
func (c *Conn) resetStream(err error) bool {
	stream, ok := errors.AsType[http2.StreamError](err)
	if !ok {
		return false
	}
	if s := c.find(stream.StreamID); s != nil {
		c.reset(stream.StreamID, s, stream.Code)
		s.endOf(stream.StreamID, internal("the server's answer isn't HTTP/2: "+stream.Error()))
	}
	return true
}

// endRead ends the connection. After an error of the protocol the server gets the reason.
func (c *Conn) endRead(err error) {
	if wrong, ok := errors.AsType[http2.ConnectionError](err); ok {
		c.mu.Lock()
		c.writes(c.writer.WriteGoAway(0, http2.ErrCode(wrong), nil))
		last := c.out
		c.out = nil
		c.mu.Unlock()
		_, _ = c.net.Write(last) // the connection ends anyway
	}
	c.fail(fmt.Errorf("read from the server: %w", err))
	c.wakeConsumers()
}

// frameBuffered reports whether the next frame can be read without waiting for the network.
func (c *Conn) frameBuffered() bool {
	if c.reader.Buffered() < headerSize {
		return false
	}
	head, err := c.reader.Peek(3) //nolint:mnd // the bytes of the length
	if err != nil {
		return false
	}
	return c.reader.Buffered() >= headerSize+(int(head[0])<<16|int(head[1])<<8|int(head[2])) //nolint:mnd // big-endian
}

// wakeConsumers wakes the consumers of the streams that have got messages.
func (c *Conn) wakeConsumers() {
	if c.config.Polled != nil {
		c.mu.Lock()
		calls := len(c.streams)
		c.mu.Unlock()
		c.config.Polled.Found(c.arrived, calls)
		c.arrived = 0
	}
	for i, s := range c.woken {
		c.woken[i] = nil
		s.wake()
	}
	c.woken = c.woken[:0]
}

// handle handles a frame. An error ends the connection, or the stream if it is a
// [http2.StreamError].
func (c *Conn) handle(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.MetaHeadersFrame:
		return c.metadata(f)
	case *http2.RSTStreamFrame:
		if s := c.find(f.StreamID); s != nil && c.remove(f.StreamID, s) {
			s.terminate(f.StreamID, f.ErrCode)
		}
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.mu.Lock()
			c.writes(c.writer.WritePing(true, f.Data))
			c.flush()
			c.mu.Unlock()
		}
	case *http2.GoAwayFrame:
		c.goAway(f)
	case *http2.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

// data passes the bytes of a frame to their stream. The connection's window is free again at
// once: what a stream holds is limited by its own window.
func (c *Conn) data(f *http2.DataFrame) error {
	size := int(f.Length)
	c.arrived++
	if c.uncredit += size; c.uncredit > connWindow {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	if c.uncredit >= connWindow/4 {
		c.mu.Lock()
		c.writes(c.writer.WriteWindowUpdate(0, uint32(c.uncredit)))
		c.flush()
		c.mu.Unlock()
		c.uncredit = 0
	}
	s := c.find(f.StreamID)
	if s == nil {
		return nil
	}
	if err := s.receive(f.StreamID, f.Data(), size); err != nil {
		c.cancel(f.StreamID, s, err)
		return nil
	}
	if f.StreamEnded() && c.remove(f.StreamID, s) {
		s.endOf(f.StreamID, internal("server closed the stream without sending trailers"))
	}
	return nil
}

// metadata handles the headers or the trailers of a response.
func (c *Conn) metadata(f *http2.MetaHeadersFrame) error {
	s := c.find(f.StreamID)
	if s == nil {
		return nil
	}
	var problem error
	switch {
	case f.Truncated:
		problem = internal("the server's headers are too large")
	case f.StreamEnded():
		if c.remove(f.StreamID, s) {
			s.endOf(f.StreamID, outcome(f))
		}
		return nil
	default:
		problem = checkHeaders(f)
	}
	if problem != nil {
		c.cancel(f.StreamID, s, problem)
	}
	return nil
}

func (c *Conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := f.ForeachSetting(func(setting http2.Setting) error {
		if err := setting.Valid(); err != nil {
			return err
		}
		switch setting.ID { //nolint:exhaustive // the others don't concern a client
		case http2.SettingInitialWindowSize:
			change := int64(setting.Val) - c.newWindow
			c.newWindow = int64(setting.Val)
			for _, s := range c.streams {
				s.window += change
			}
		case http2.SettingMaxFrameSize:
			c.frame = int(setting.Val)
		case http2.SettingMaxConcurrentStreams:
			c.maxStreams = setting.Val
		case http2.SettingHeaderTableSize:
			c.encoder.SetMaxDynamicTableSizeLimit(setting.Val)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.writes(c.writer.WriteSettingsAck())
	c.flush()
	c.wakeRequests()
	return nil
}

// goAway ends the calls that the server won't work on. No further calls are made on this
// connection.
func (c *Conn) goAway(f *http2.GoAwayFrame) {
	c.mu.Lock()
	c.draining = true
	var lost []*Stream
	var ids []uint32
	for id, s := range c.streams {
		if id > f.LastStreamID {
			lost, ids = append(lost, s), append(ids, id)
			delete(c.streams, id)
		}
	}
	idle := len(c.streams) == 0
	c.wakeRequests()
	c.mu.Unlock()
	for i, s := range lost {
		s.endOf(ids[i], unprocessed("the server is closing the connection"))
	}
	if idle {
		go c.fail(errClosed)
	}
}

func (c *Conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.StreamID == 0 {
		if c.window += int64(f.Increment); c.window > math.MaxInt32 {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
	} else if s := c.streams[f.StreamID]; s != nil {
		if s.window += int64(f.Increment); s.window > math.MaxInt32 {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeFlowControl}
		}
	}
	c.wakeRequests()
	return nil
}
