import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGateOn } from './feature-gates.ts';
import { KUBELET_DEFAULTS } from './generated/defaults.ts';
import type { LoggingConfiguration, TracingConfiguration } from './generated/kubelet-configuration.ts';
import { loggingErrors, tracingErrors } from './validate-logging.ts';

const logs: Record<
  string,
  { change: Partial<LoggingConfiguration>; gates?: Record<string, boolean>; messages: string[] }
> = {
  'accepts the defaults': { change: {}, messages: [] },
  'accepts JSON': { change: { format: 'json' }, messages: [] },
  'writes JSON only by its gate': {
    change: { format: 'json' },
    gates: { LoggingBetaOptions: false },
    messages: ['logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature'],
  },
  'flushes now and then': {
    change: { flushFrequency: '0s' },
    messages: ['logging.flushFrequency: Invalid value: "0s": Must be greater than zero'],
  },
  'knows its formats': {
    change: { format: 'xml' },
    messages: ['logging.format: Invalid value: "xml": Unsupported log format'],
  },
  'bounds the verbosity': {
    change: { verbosity: 2 ** 31 },
    messages: ['logging.verbosity: Invalid value: 2147483648: Must be <= 2147483647'],
  },
  'looks at the verbosity of files': {
    change: {
      vmodule: [
        { filePattern: '', verbosity: 1 },
        { filePattern: 'a=b', verbosity: 2 ** 31 },
      ],
    },
    messages: [
      'logging.vmodule[0]: Required value: File pattern must not be empty',
      'logging.vmodule[1]: Invalid value: "a=b": File pattern must not contain equal sign or comma',
      'logging.vmodule[1]: Invalid value: 2147483648: Must be <= 2147483647',
    ],
  },
  'knows files only in text': {
    change: { format: 'json', vmodule: [{ filePattern: 'a', verbosity: 1 }] },
    messages: ['logging.vmodule: Forbidden: Only supported for text log format'],
  },
  'splits streams only by its gate': {
    change: { options: { text: { splitStream: true, infoBufferSize: '0' }, json: { infoBufferSize: '1Ki' } } },
    messages: [
      'logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled',
      'logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled',
    ],
  },
  'splits streams': {
    change: { options: { text: { splitStream: true, infoBufferSize: '1Ki' }, json: { infoBufferSize: '0' } } },
    gates: { LoggingAlphaOptions: true },
    messages: [],
  },
};

for (const [name, { change, gates = {}, messages }] of Object.entries(logs)) {
  test(`loggingErrors() ${name}`, () => {
    const logging = { ...KUBELET_DEFAULTS.logging, ...change };
    assert.deepEqual([...loggingErrors(logging, (gate) => isGateOn(gates, gate))], messages);
  });
}

const traces: Record<string, { tracing: TracingConfiguration | undefined; messages: string[] }> = {
  'needs no tracing': { tracing: undefined, messages: [] },
  'accepts a host and a port': { tracing: { endpoint: 'localhost:4317', samplingRatePerMillion: 100 }, messages: [] },
  'accepts a socket': { tracing: { endpoint: 'unix:///run/otel.sock' }, messages: [] },
  'refuses what is no host and port': {
    tracing: { endpoint: 'localhost:otlp' },
    messages: [
      'tracing.endpoint: Invalid value: "dns://localhost:otlp": parse "dns://localhost:otlp": invalid port ":otlp" after host',
    ],
  },
  'refuses other schemes': {
    tracing: { endpoint: 'http://localhost:4317' },
    messages: [
      'tracing.endpoint: Invalid value: "http://localhost:4317": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md',
    ],
  },
  'refuses less than nothing': {
    tracing: { samplingRatePerMillion: -1 },
    messages: ['tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive'],
  },
  'refuses more than all': {
    tracing: { samplingRatePerMillion: 1_000_001 },
    messages: [
      'tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million',
    ],
  },
};

for (const [name, { tracing, messages }] of Object.entries(traces)) {
  test(`tracingErrors() ${name}`, () => {
    assert.deepEqual([...tracingErrors(tracing)], messages);
  });
}
