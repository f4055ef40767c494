import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import {
  ExportTraceServiceRequest,
  ExportTraceServiceResponse,
  TraceServiceDefinition,
} from '../../src/observability/tracing/generated/otlp-collector-trace-v1.ts';
import type { AnyValue, KeyValue } from '../../src/observability/tracing/generated/otlp-common-v1.ts';
import {
  type Span,
  Span_SpanKind,
  Status_StatusCode,
} from '../../src/observability/tracing/generated/otlp-trace-v1.ts';
import type { TestSpan } from './trace-tree.ts';

/** A collector of OTLP over gRPC on a port of loopback. */
export interface OtlpCollector {
  /** `127.0.0.1:4317` */
  readonly endpoint: string;
  readonly spans: readonly CollectedSpan[];
  /** Requests so far, answered or not. */
  readonly requests: number;
  /** Without answers from now on, or with. */
  hang(isHanging: boolean): void;
  close(): void;
}

export interface CollectedSpan extends TestSpan {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
}

export async function startCollector(): Promise<OtlpCollector> {
  const { methods, fullName } = TraceServiceDefinition;
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  const spans: CollectedSpan[] = [];
  let requests = 0;
  let isHanging = false;
  const definition = {
    export: {
      path: `/${fullName}/${methods.export.name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: (message: ExportTraceServiceRequest) =>
        Buffer.from(ExportTraceServiceRequest.encode(message).finish()),
      requestDeserialize: (bytes: Buffer) => ExportTraceServiceRequest.decode(new Uint8Array(bytes)),
      responseSerialize: (message: ExportTraceServiceResponse) =>
        Buffer.from(ExportTraceServiceResponse.encode(message).finish()),
      responseDeserialize: (bytes: Buffer) => ExportTraceServiceResponse.decode(new Uint8Array(bytes)),
    },
  };
  server.addService(definition, {
    export: (call: { request: ExportTraceServiceRequest }, answer: sendUnaryData<ExportTraceServiceResponse>) => {
      requests++;
      if (isHanging) return;
      spans.push(...collected(call.request));
      answer(null, { partialSuccess: undefined });
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return {
    endpoint: `127.0.0.1:${port}`,
    spans,
    get requests() {
      return requests;
    },
    hang(hanging) {
      isHanging = hanging;
    },
    close: () => server.forceShutdown(),
  };
}

function collected({ resourceSpans }: ExportTraceServiceRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const described = plainAttributes(resource?.attributes ?? []);
    return scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({ ...plainSpan(span, described), resource: described, scope: scope?.name ?? '' })),
    );
  });
}

function plainSpan(span: Span, resource: Readonly<Record<string, unknown>>): TestSpan {
  const { name, status } = span;
  return {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentId: hex(span.parentSpanId),
    name,
    kind: kindName(span.kind),
    service: String(resource['service.name']),
    startNs: span.startTimeUnixNano,
    endNs: span.endTimeUnixNano,
    attributes: plainAttributes(span.attributes),
    links: span.links.map(({ spanId }) => hex(spanId)),
    error: status?.code === Status_StatusCode.STATUS_CODE_ERROR ? status.message : undefined,
  };
}

/** `client` */
function kindName(kind: Span_SpanKind): string {
  const [name = ''] = Object.entries(Span_SpanKind).find(([, number]) => number === kind) ?? [];
  return name.replace('SPAN_KIND_', '').toLowerCase();
}

function plainAttributes(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value && plainValue(value)]));
}

function plainValue({ stringValue, boolValue, intValue, doubleValue, arrayValue }: AnyValue): unknown {
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? boolValue ?? doubleValue ?? arrayValue?.values.map(plainValue);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
