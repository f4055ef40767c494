import { Client, credentials } from '@grpc/grpc-js';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { aborted } from '../../base/aborted.ts';
import type { Clock } from '../../host/clock.ts';
import { followWork } from './follow-work.ts';
import { OtlpExporter } from './otlp-exporter.ts';
import { SpanClock } from './span-clock.ts';
import type { Tracing, TracingDeps, TracingSettings } from './start-tracing.ts';

/** Limit for exporting the last spans. */
const FLUSH_TIMEOUT_MS = 2_000;
const MILLION = 1_000_000;

/** Exports the spans of this process to the collector of the settings. */
export function openTracer(settings: TracingSettings, deps: TracingDeps): Tracing {
  const client = new Client(
    grpcTarget(settings.endpoint),
    settings.isSecure ? credentials.createSsl() : credentials.createInsecure(),
  );
  const exporter = new OtlpExporter({ client, resource: settings.resource, ...deps });
  const tracing = traceWith(new BatchSpanProcessor({ exporter }), settings, deps.clock);
  return {
    async [Symbol.asyncDispose]() {
      const flushed = Promise.resolve(tracing[Symbol.asyncDispose]());
      // An error is logged by the exporter.
      await Promise.race([flushed.catch(() => {}), aborted(deps.clock.deadline(FLUSH_TIMEOUT_MS))]);
      client.close();
    },
  };
}

/** Passes the spans of this process to `processor`. Disposing it flushes and shuts down the processor. */
export function traceWith(
  processor: SpanProcessor,
  { samplingRatePerMillion, scope }: Pick<TracingSettings, 'samplingRatePerMillion' | 'scope'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): Tracing {
  const provider = new TracerProvider({
    sampler: samplerOf(samplingRatePerMillion),
    spanProcessors: [processor],
  });
  const stop = followWork({ tracer: (name) => provider.getTracer(name), scope, clock: new SpanClock(clock) });
  return {
    async [Symbol.asyncDispose]() {
      stop();
      await provider.shutdown();
    },
  };
}

/** grpc-js has no name for a socket in Linux's abstract namespace, but connects to its address. */
function grpcTarget(endpoint: string): string {
  const [, name] = /^unix-abstract:(?:\/\/)?(.*)$/.exec(endpoint) ?? [];
  return name === undefined ? endpoint : `unix:\0${name}`;
}

/** kubelet's: the parent decides, and for a trace that begins here the ratio. */
function samplerOf(perMillion: number): Sampler {
  const root = perMillion > 0 ? new TraceIdRatioBasedSampler(perMillion / MILLION) : new AlwaysOffSampler();
  return new ParentBasedSampler({ root });
}
