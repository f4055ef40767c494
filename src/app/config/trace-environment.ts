import { DEFAULT_TRACING_ENDPOINT, type TracingSettings } from '../../observability/tracing/start-tracing.ts';
import { type ConfigDiagnostic, errorAt } from './config-diagnostic.ts';

/** The variables of the OpenTelemetry specification that containerd reads. */
export type TraceEnvironment = Readonly<Record<string, string | undefined>>;

type Report = (variable: string, message: string) => void;

const MILLION = 1_000_000;
const TRACES = 'OTEL_EXPORTER_OTLP_TRACES_';
const ALL_SIGNALS = 'OTEL_EXPORTER_OTLP_';

/** Where spans go and which are sampled. */
export type TraceTarget = Pick<TracingSettings, 'endpoint' | 'isSecure' | 'samplingRatePerMillion'>;

/** The tracing that the environment asks for, as with containerd: off without an endpoint. */
export function environmentTracing(env: TraceEnvironment): {
  readonly target: TraceTarget | undefined;
  readonly diagnostics: readonly ConfigDiagnostic[];
} {
  const diagnostics: ConfigDiagnostic[] = [];
  const report: Report = (variable, message) => void diagnostics.push(errorAt(variable, message));
  const read = (name: string): readonly [variable: string, value: string] => {
    const ofTraces = env[TRACES + name];
    return ofTraces ? [TRACES + name, ofTraces] : [ALL_SIGNALS + name, env[ALL_SIGNALS + name] ?? ''];
  };
  const [variable, endpoint] = read('ENDPOINT');
  if (endpoint === '' || isDisabled(env, report)) return { target: undefined, diagnostics };
  const [protocolVariable, protocol] = read('PROTOCOL');
  if (protocol !== 'grpc') report(protocolVariable, `only "grpc" is supported, got ${JSON.stringify(protocol)}`);
  const exporter = env['OTEL_TRACES_EXPORTER'] || 'otlp';
  if (exporter !== 'otlp') report('OTEL_TRACES_EXPORTER', `unsupported traces exporter ${JSON.stringify(exporter)}`);
  const target = { ...parseEndpoint(variable, endpoint, report), samplingRatePerMillion: samplingRate(env, report) };
  return { target, diagnostics };
}

/** `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME`: what the spans are of. */
export function environmentResource(env: TraceEnvironment): Record<string, string> {
  const listed = (env['OTEL_RESOURCE_ATTRIBUTES'] ?? '').split(',').flatMap((pair) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    return name === undefined || value === undefined ? [] : [[name, decoded(value)]];
  });
  const service = env['OTEL_SERVICE_NAME'];
  return { ...Object.fromEntries(listed), ...(service && { 'service.name': service }) };
}

function isDisabled(env: TraceEnvironment, report: Report): boolean {
  const text = env['OTEL_SDK_DISABLED'] ?? '';
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (!/^(0|f|F|FALSE|false|False)?$/.test(text)) report('OTEL_SDK_DISABLED', `invalid value ${JSON.stringify(text)}`);
  return false;
}

/** OpenTelemetry's URL of a collector. gRPC has no path. */
function parseEndpoint(variable: string, text: string, report: Report): Pick<TraceTarget, 'endpoint' | 'isSecure'> {
  if (/^unix:/.test(text)) return { endpoint: text };
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.hostname !== '') {
    const port = url.port || (url.protocol === 'https:' ? '443' : '4317');
    return { endpoint: `${url.hostname}:${port}`, isSecure: url.protocol === 'https:' };
  }
  report(variable, `expected a URL such as http://${DEFAULT_TRACING_ENDPOINT}, got ${JSON.stringify(text)}`);
  return { endpoint: text };
}

/** Of the samplers of OpenTelemetry those that respect the decision of the caller. */
function samplingRate(env: TraceEnvironment, report: Report): number {
  const sampler = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on';
  switch (sampler) {
    case 'parentbased_always_on':
      return MILLION;
    case 'parentbased_always_off':
      return 0;
    case 'parentbased_traceidratio':
      return ratioPerMillion(env['OTEL_TRACES_SAMPLER_ARG'] || '1', report);
    default:
      report('OTEL_TRACES_SAMPLER', `unsupported sampler ${JSON.stringify(sampler)}`);
      return 0;
  }
}

function ratioPerMillion(text: string, report: Report): number {
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return Math.round(ratio * MILLION);
  report('OTEL_TRACES_SAMPLER_ARG', `expected a ratio from 0 to 1, got ${JSON.stringify(text)}`);
  return 0;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
