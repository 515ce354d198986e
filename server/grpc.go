package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"

	"github.com/runnel-dev/runnel/internal/status"
	"github.com/runnel-dev/runnel/internal/wire"
)

// options are those of every server, whatever its credentials.
func options(log *slog.Logger) []grpc.ServerOption {
	levels := logging.WithLevels(level)
	logged := logging.UnaryServerInterceptor(logger(log), levels, logging.WithLogOnEvents(logging.FinishCall))
	loggedStream := logging.StreamServerInterceptor(logger(log), levels, logging.WithLogOnEvents(logging.StartCall, logging.FinishCall))
	panics := recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error {
		log.ErrorContext(ctx, "panic", "panic", p, "stack", string(debug.Stack()))
		return status.Panic()
	})
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(wire.Codec{}),
		grpc.ChainUnaryInterceptor(logged, recovery.UnaryServerInterceptor(panics)),
		grpc.ChainStreamInterceptor(loggedStream, recovery.StreamServerInterceptor(panics)),
		// The limit that callers are told of is lower (subscriber.Limits): gRPC's own
		// error has no details.
		grpc.MaxRecvMsgSize(64 << 20),
		// Batches halve the cost of a saturated stream with it.
		grpc.WriteBufferSize(128 << 10),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time:    30 * time.Second, // a half-open connection is found within 60 s
			Timeout: 20 * time.Second,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             5 * time.Second, // clients that ping every 10 s may be early
			PermitWithoutStream: true,
		}),
	}
}

// level is that of a call that ended with the code: what is not the server's
// fault is ordinary.
func level(code codes.Code) logging.Level {
	switch code {
	case codes.Unknown, codes.Internal, codes.DataLoss:
		return logging.LevelError
	}
	return logging.LevelInfo
}

// logger writes middleware's messages to log.
func logger(log *slog.Logger) logging.Logger {
	return logging.LoggerFunc(func(ctx context.Context, level logging.Level, message string, fields ...any) {
		log.Log(ctx, slog.Level(level), message, fields...)
	})
}
