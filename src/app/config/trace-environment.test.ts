import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDiagnostic } from './config-diagnostic.ts';
import {
  environmentResource,
  environmentTracing,
  type TraceEnvironment,
  type TraceTarget,
} from './trace-environment.ts';

const ENV = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
const TARGET: TraceTarget = { endpoint: 'collector:4317', isSecure: false, samplingRatePerMillion: 1_000_000 };

const accepted: Record<string, { readonly env: TraceEnvironment; readonly target: TraceTarget | undefined }> = {
  'is off without an endpoint': { env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, target: undefined },
  'samples what no caller has decided about': { env: ENV, target: TARGET },
  'can be disabled': { env: { ...ENV, OTEL_SDK_DISABLED: 'true' }, target: undefined },
  'can be enabled': { env: { ...ENV, OTEL_SDK_DISABLED: 'false' }, target: TARGET },
  'takes the endpoint of traces first': {
    env: { ...ENV, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces' },
    target: { ...TARGET, endpoint: 'traces:443', isSecure: true },
  },
  'takes the protocol of traces first': {
    env: { ...ENV, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
    target: TARGET,
  },
  'uses the port of OTLP': { env: { ...ENV, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector' }, target: TARGET },
  'accepts a socket': {
    env: { ...ENV, OTEL_EXPORTER_OTLP_ENDPOINT: 'unix:///run/otel.sock' },
    target: { endpoint: 'unix:///run/otel.sock', samplingRatePerMillion: 1_000_000 },
  },
  'follows callers only': {
    env: { ...ENV, OTEL_TRACES_SAMPLER: 'parentbased_always_off' },
    target: { ...TARGET, samplingRatePerMillion: 0 },
  },
  'samples a part': {
    env: { ...ENV, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    target: { ...TARGET, samplingRatePerMillion: 250_000 },
  },
};

for (const [what, { env, target }] of Object.entries(accepted)) {
  test(`environmentTracing() ${what}`, () => {
    assert.deepEqual(environmentTracing(env), { target, diagnostics: [] });
  });
}

const refused: Record<string, { readonly change: TraceEnvironment; readonly errors: readonly string[] }> = {
  'the protocol that is the default elsewhere': {
    change: { OTEL_EXPORTER_OTLP_PROTOCOL: undefined },
    errors: ['OTEL_EXPORTER_OTLP_PROTOCOL: only "grpc" is supported, got ""'],
  },
  'other exporters': {
    change: { OTEL_TRACES_EXPORTER: 'zipkin' },
    errors: ['OTEL_TRACES_EXPORTER: unsupported traces exporter "zipkin"'],
  },
  'an endpoint that is no URL': {
    change: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
    errors: ['OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL such as http://localhost:4317, got "collector:4317"'],
  },
  'samplers that ignore callers': {
    change: { OTEL_TRACES_SAMPLER: 'always_on' },
    errors: ['OTEL_TRACES_SAMPLER: unsupported sampler "always_on"'],
  },
  'a ratio above one': {
    change: { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
    errors: ['OTEL_TRACES_SAMPLER_ARG: expected a ratio from 0 to 1, got "2"'],
  },
  'what is neither true nor false': {
    change: { OTEL_SDK_DISABLED: 'maybe' },
    errors: ['OTEL_SDK_DISABLED: invalid value "maybe"'],
  },
};

for (const [what, { change, errors }] of Object.entries(refused)) {
  test(`environmentTracing() refuses ${what}`, () => {
    const { diagnostics } = environmentTracing({ ...ENV, ...change });
    assert.deepEqual(diagnostics.map(formatDiagnostic), errors);
  });
}

test('environmentResource() reads a list, and the name of the service', () => {
  const env = { OTEL_RESOURCE_ATTRIBUTES: 'zone=a%20b, rack = 7,broken', OTEL_SERVICE_NAME: 'runtime' };
  assert.deepEqual(environmentResource(env), { zone: 'a b', rack: '7', 'service.name': 'runtime' });
});
