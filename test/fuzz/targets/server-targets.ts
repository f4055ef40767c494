import { byteRange } from '../../../src/kubelet/server/logs/conditional-request.ts';
import {
  journalArguments,
  nodeLogQueryError,
  parseNodeLogQuery,
} from '../../../src/kubelet/server/logs/node-log-query.ts';
import { negotiatePage } from '../../../src/kubelet/server/zpages/negotiate-page.ts';
import { bytesOf, type FuzzTarget, requireProperty } from '../fuzz-target.ts';

const decoder = new TextDecoder();

export const NODE_LOG_QUERY: FuzzTarget = {
  name: 'node-log-query',
  seeds: [
    'query=kubelet&tailLines=5&boot=-1&pattern=a%28b%29%2A',
    'query=a&sinceTime=2026-11-15T09:02:09Z&untilTime=2026-11-16T09:02:09Z',
    'query=/below/one.log',
  ].map(bytesOf),
  tokens: ['query=', '&pattern=', '%28', '%5B', '[:alpha:]', '(?', '\\', '--', '%00', 'sinceTime='],
  errors: [],
  pumps: [
    ['query=a&pattern=', '(', ''],
    ['query=a&pattern=', '(a%2B)%2B', ''],
    ['', 'query=a&', ''],
  ],
  run(input) {
    const parsed = parseNodeLogQuery(new URLSearchParams(decoder.decode(input)));
    if (parsed.kind !== 'query') return parsed.kind;
    const { services, options } = parsed.query;
    if (nodeLogQueryError(parsed.query, parsed.untilText, undefined) !== undefined) return 'rejected';
    const args = journalArguments(options, services);
    const known = /^--(utc|no-pager|output=|since=|until=|pager-end|lines=|unit=|grep=|boot$)|^-?\d+$/;
    requireProperty(
      args.every((arg) => known.test(arg)),
      `an argument of journalctl: ${args.join(' ')}`,
    );
    return args.length;
  },
};

export const BYTE_RANGE: FuzzTarget = {
  name: 'byte-range',
  seeds: ['bytes=0-1', 'bytes=-5', 'bytes=5-', 'bytes=0-0,2-2'].map(bytesOf),
  tokens: ['bytes=', '-', ',', '99999999999999999999', ' '],
  errors: [],
  run(input) {
    const size = 10;
    const range = byteRange(decoder.decode(input), size);
    if (range.kind !== 'part') return range.kind;
    const isInside = range.start >= 0 && range.length >= 0 && range.start + range.length <= size;
    requireProperty(isInside, `${range.start} and ${range.length} bytes of ${size}`);
    return range.kind;
  },
};

export const ACCEPT_HEADER: FuzzTarget = {
  name: 'accept-header',
  seeds: ['*/*', 'application/json;v=v1beta1;g=config.k8s.io;as=Flagz, text/plain;q=0.1'].map(bytesOf),
  tokens: ['application/yaml', ';', ',', 'q=', 'as=', '"', '*'],
  errors: [],
  run: (input) => negotiatePage('Flagz', { accept: decoder.decode(input) }, new URLSearchParams()).kind,
};
