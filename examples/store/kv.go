package main

import (
	"bytes"
	"cmp"
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Range implements etcdserverpb.KVServer. Requests that API servers never make are rejected, here
// and below: a wrong answer would be worse.
func (s *store) Range(_ context.Context, request *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(request, s.revision)
}

// read answers a range as of a revision, unless the request names another.
func (s *store) read(request *etcdserverpb.RangeRequest, revision int64) (*etcdserverpb.RangeResponse, error) {
	switch {
	case request.SortOrder != etcdserverpb.RangeRequest_NONE || request.MinModRevision+request.MaxModRevision+request.MinCreateRevision+request.MaxCreateRevision != 0:
		return nil, status.Error(codes.Unimplemented, "ranges are not sorted, and not filtered by revision")
	case request.Revision > s.revision:
		return nil, rpctypes.ErrGRPCFutureRev
	case request.Revision > 0 && request.Revision < s.compacted:
		return nil, rpctypes.ErrGRPCCompacted
	}
	pairs := s.between(string(request.Key), string(request.RangeEnd), cmp.Or(request.Revision, revision))
	answer := &etcdserverpb.RangeResponse{Header: header(s.revision), Count: int64(len(pairs))}
	if request.CountOnly {
		return answer, nil
	}
	if limit := int(request.Limit); limit > 0 && limit < len(pairs) {
		pairs, answer.More = pairs[:limit], true
	}
	for _, pair := range pairs {
		if request.KeysOnly {
			pair = &mvccpb.KeyValue{
				Key: pair.Key, CreateRevision: pair.CreateRevision, ModRevision: pair.ModRevision, Version: pair.Version, Lease: pair.Lease,
			}
		}
		answer.Kvs = append(answer.Kvs, pair)
	}
	return answer, nil
}

// Put implements etcdserverpb.KVServer.
func (s *store) Put(ctx context.Context, request *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	answer, err := s.Txn(ctx, &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{
		{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: request}},
	}})
	if err != nil {
		return nil, err
	}
	return answer.Responses[0].GetResponsePut(), nil
}

// DeleteRange implements etcdserverpb.KVServer.
func (s *store) DeleteRange(ctx context.Context, request *etcdserverpb.DeleteRangeRequest) (*etcdserverpb.DeleteRangeResponse, error) {
	answer, err := s.Txn(ctx, &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{
		{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: request}},
	}})
	if err != nil {
		return nil, err
	}
	return answer.Responses[0].GetResponseDeleteRange(), nil
}

// Txn implements etcdserverpb.KVServer. All changes have one revision, and a transaction that
// changes nothing has none.
func (s *store) Txn(_ context.Context, request *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &etcdserverpb.TxnResponse{Succeeded: true}
	operations := request.Success
	for _, compare := range request.Compare {
		holds, err := s.holds(compare)
		if err != nil {
			return nil, err
		}
		if !holds {
			answer.Succeeded, operations = false, request.Failure
		}
	}
	changes, err := s.changesOf(operations)
	if err != nil {
		return nil, err
	}
	before := s.revision
	if len(changes) > 0 {
		if err := s.commit(record{Revision: before + 1, Changes: changes}); err != nil {
			return nil, status.Error(codes.Unavailable, err.Error())
		}
	}
	answer.Header = header(s.revision)
	sees := before // what a range before all changes sees
	for _, operation := range operations {
		response := &etcdserverpb.ResponseOp{}
		switch asked := operation.Request.(type) {
		case *etcdserverpb.RequestOp_RequestRange:
			found, err := s.read(asked.RequestRange, sees)
			if err != nil {
				return nil, err
			}
			response.Response = &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: found}
		case *etcdserverpb.RequestOp_RequestPut:
			put := &etcdserverpb.PutResponse{Header: answer.Header}
			if asked.RequestPut.PrevKv {
				put.PrevKv = s.at(string(asked.RequestPut.Key), before)
			}
			response.Response = &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: put}
			sees = s.revision
		case *etcdserverpb.RequestOp_RequestDeleteRange:
			were := s.between(string(asked.RequestDeleteRange.Key), string(asked.RequestDeleteRange.RangeEnd), before)
			deleted := &etcdserverpb.DeleteRangeResponse{Header: answer.Header, Deleted: int64(len(were))}
			if asked.RequestDeleteRange.PrevKv {
				deleted.PrevKvs = were
			}
			response.Response = &etcdserverpb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: deleted}
			sees = s.revision
		}
		answer.Responses = append(answer.Responses, response)
	}
	return answer, nil
}

// changesOf returns the changes of operations, or why they are impossible.
func (s *store) changesOf(operations []*etcdserverpb.RequestOp) (changes []change, err error) {
	changed := map[string]bool{}
	add := func(c change) {
		if changed[c.Key] {
			err = rpctypes.ErrGRPCDuplicateKey
		}
		changed[c.Key] = true
		changes = append(changes, c)
	}
	for _, operation := range operations {
		switch asked := operation.Request.(type) {
		case *etcdserverpb.RequestOp_RequestRange:
			if _, err := s.read(asked.RequestRange, s.revision); err != nil {
				return nil, err
			}
		case *etcdserverpb.RequestOp_RequestPut:
			put := asked.RequestPut
			switch {
			case put.IgnoreValue || put.IgnoreLease:
				return nil, status.Error(codes.Unimplemented, "a put cannot keep the value or the lease")
			case put.Lease != 0 && s.leases[put.Lease] == nil:
				return nil, rpctypes.ErrGRPCLeaseNotFound
			}
			add(change{Key: string(put.Key), Value: put.Value, Lease: put.Lease})
		case *etcdserverpb.RequestOp_RequestDeleteRange:
			for _, pair := range s.between(string(asked.RequestDeleteRange.Key), string(asked.RequestDeleteRange.RangeEnd), s.revision) {
				add(change{Key: string(pair.Key), Deleted: true})
			}
		default:
			return nil, status.Error(codes.Unimplemented, "transactions are not nested")
		}
	}
	return changes, err
}

// holds evaluates a comparison of a transaction. For a key that does not exist, revisions and
// version are 0, and no value matches.
func (s *store) holds(compare *etcdserverpb.Compare) (bool, error) {
	pair := s.at(string(compare.Key), s.revision)
	var order int
	switch {
	case len(compare.RangeEnd) > 0:
		return false, status.Error(codes.Unimplemented, "comparisons are of one key")
	case compare.Target == etcdserverpb.Compare_VALUE:
		if pair == nil {
			return false, nil
		}
		order = bytes.Compare(pair.Value, compare.GetValue())
	case compare.Target == etcdserverpb.Compare_MOD:
		order = cmp.Compare(pair.GetModRevision(), compare.GetModRevision())
	case compare.Target == etcdserverpb.Compare_CREATE:
		order = cmp.Compare(pair.GetCreateRevision(), compare.GetCreateRevision())
	case compare.Target == etcdserverpb.Compare_VERSION:
		order = cmp.Compare(pair.GetVersion(), compare.GetVersion())
	case compare.Target == etcdserverpb.Compare_LEASE:
		order = cmp.Compare(pair.GetLease(), compare.GetLease())
	}
	switch compare.Result {
	case etcdserverpb.Compare_EQUAL:
		return order == 0, nil
	case etcdserverpb.Compare_NOT_EQUAL:
		return order != 0, nil
	case etcdserverpb.Compare_GREATER:
		return order > 0, nil
	default:
		return order < 0, nil
	}
}

// Compact implements etcdserverpb.KVServer.
func (s *store) Compact(_ context.Context, request *etcdserverpb.CompactionRequest) (*etcdserverpb.CompactionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case request.Revision <= s.compacted:
		return nil, rpctypes.ErrGRPCCompacted
	case request.Revision > s.revision:
		return nil, rpctypes.ErrGRPCFutureRev
	}
	if err := s.commit(record{Compact: request.Revision}); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &etcdserverpb.CompactionResponse{Header: header(s.revision)}, nil
}
