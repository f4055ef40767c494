import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGateOn } from './feature-gates.ts';
import { KUBELET_DEFAULTS } from './generated/defaults.ts';
import type { LoggingConfiguration, TracingConfiguration } from './generated/kubelet-configuration.ts';
import { loggingFaults, tracingFaults } from './validate-logging.ts';

const logs: Record<
  string,
  { change: Partial<LoggingConfiguration>; gates?: Record<string, boolean>; faults: string[] }
> = {
  'accepts the defaults': { change: {}, faults: [] },
  'accepts JSON': { change: { format: 'json' }, faults: [] },
  'writes JSON only by its gate': {
    change: { format: 'json' },
    gates: { LoggingBetaOptions: false },
    faults: ['logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature'],
  },
  'flushes now and then': {
    change: { flushFrequency: '0s' },
    faults: ['logging.flushFrequency: Invalid value: "0s": Must be greater than zero'],
  },
  'knows its formats': {
    change: { format: 'xml' },
    faults: ['logging.format: Invalid value: "xml": Unsupported log format'],
  },
  'bounds the verbosity': {
    change: { verbosity: 2 ** 31 },
    faults: ['logging.verbosity: Invalid value: 2147483648: Must be <= 2147483647'],
  },
  'looks at the verbosity of files': {
    change: {
      vmodule: [
        { filePattern: '', verbosity: 1 },
        { filePattern: 'a=b', verbosity: 2 ** 31 },
      ],
    },
    faults: [
      'logging.vmodule[0]: Required value: File pattern must not be empty',
      'logging.vmodule[1]: Invalid value: "a=b": File pattern must not contain equal sign or comma',
      'logging.vmodule[1]: Invalid value: 2147483648: Must be <= 2147483647',
    ],
  },
  'knows files only in text': {
    change: { format: 'json', vmodule: [{ filePattern: 'a', verbosity: 1 }] },
    faults: ['logging.vmodule: Forbidden: Only supported for text log format'],
  },
  'splits streams only by its gate': {
    change: { options: { text: { splitStream: true, infoBufferSize: '0' }, json: { infoBufferSize: '1Ki' } } },
    faults: [
      'logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled',
      'logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled',
    ],
  },
  'splits streams': {
    change: { options: { text: { splitStream: true, infoBufferSize: '1Ki' }, json: { infoBufferSize: '0' } } },
    gates: { LoggingAlphaOptions: true },
    faults: [],
  },
};

for (const [name, { change, gates = {}, faults }] of Object.entries(logs)) {
  test(`loggingFaults() ${name}`, () => {
    const logging = { ...KUBELET_DEFAULTS.logging, ...change };
    assert.deepEqual([...loggingFaults(logging, (gate) => isGateOn(gates, gate))], faults);
  });
}

const traces: Record<string, { tracing: TracingConfiguration | undefined; faults: string[] }> = {
  'needs no tracing': { tracing: undefined, faults: [] },
  'accepts a host and a port': { tracing: { endpoint: 'localhost:4317', samplingRatePerMillion: 100 }, faults: [] },
  'accepts a socket': { tracing: { endpoint: 'unix:///run/otel.sock' }, faults: [] },
  'refuses other schemes': {
    tracing: { endpoint: 'http://localhost:4317' },
    faults: [
      'tracing.endpoint: Invalid value: "http://localhost:4317": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md',
    ],
  },
  'refuses less than nothing': {
    tracing: { samplingRatePerMillion: -1 },
    faults: ['tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive'],
  },
  'refuses more than all': {
    tracing: { samplingRatePerMillion: 1_000_001 },
    faults: [
      'tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million',
    ],
  },
};

for (const [name, { tracing, faults }] of Object.entries(traces)) {
  test(`tracingFaults() ${name}`, () => {
    assert.deepEqual([...tracingFaults(tracing)], faults);
  });
}
