import { type Client, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import {
  ExportTraceServiceRequest,
  ExportTraceServiceResponse,
  TraceServiceDefinition,
} from './generated/otlp-collector-trace-v1.ts';
import { spansMessage } from './span-message.ts';

/** OpenTelemetry's default for OTLP. */
const EXPORT_TIMEOUT_MS = 10_000;
const { fullName, methods } = TraceServiceDefinition;
const PATH = `/${fullName}/${methods.export.name}`;

export interface ExporterDeps {
  readonly client: Client;
  readonly resource: Attributes;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/**
 * Sends batches of spans to a collector. A batch that it does not take within the time limit is dropped: spans are never
 * worth memory or delay. The first of several failures in a row is logged.
 */
export class OtlpExporter implements SpanExporter {
  readonly #deps: ExporterDeps;
  #isFailing = false;

  constructor(deps: ExporterDeps) {
    this.#deps = deps;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    const { client, resource, clock } = this.#deps;
    client.makeUnaryRequest(
      PATH,
      (request: ExportTraceServiceRequest) => Buffer.from(ExportTraceServiceRequest.encode(request).finish()),
      (bytes) => ExportTraceServiceResponse.decode(new Uint8Array(bytes)),
      spansMessage(spans, resource),
      new Metadata(),
      { deadline: clock.now() + EXPORT_TIMEOUT_MS },
      (error, response) => {
        this.#report(error, response, spans.length);
        done(error ? { code: FAILED, error } : { code: SUCCESS });
      },
    );
  }

  async shutdown(): Promise<void> {
    this.#deps.client.close();
  }

  #report(error: ServiceError | null, response: ExportTraceServiceResponse | undefined, count: number): void {
    const { log } = this.#deps;
    const rejected = response?.partialSuccess;
    const reason = error ? errorText(error) : rejected?.errorMessage;
    const dropped = error ? count : Number(rejected?.rejectedSpans ?? 0);
    if (!this.#isFailing && dropped > 0) log.warn('cannot export spans to the collector', { dropped, error: reason });
    if (this.#isFailing && dropped === 0) log.info('the collector takes spans again');
    this.#isFailing = dropped > 0;
  }
}

/** `ExportResultCode` of @opentelemetry/core. */
const SUCCESS = 0;
const FAILED = 1;
