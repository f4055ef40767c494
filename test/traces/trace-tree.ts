/** A span of any source: a collector, or memory. */
export interface TestSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: the root of its trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: string;
  /** `service.name` of its resource. */
  readonly service: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The spans of other traces that it refers to. */
  readonly links: readonly string[];
  /** The message of its error; `undefined`: it has none. */
  readonly error: string | undefined;
}

/** One line a span, children indented below their parent in the order of their start. Spans without a known parent begin a tree. */
export function drawTraces<Span extends TestSpan>(
  spans: readonly Span[],
  /** Of a span behind its name. */
  show: (span: Span) => string = () => '',
): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const childrenOf = (id: string): Span[] => spans.filter(({ parentId }) => parentId === id).toSorted(byStart);
  const draw = (span: Span, depth: number): string[] => [
    `${'  '.repeat(depth)}${span.name}${show(span)}`,
    ...childrenOf(span.spanId).flatMap((child) => draw(child, depth + 1)),
  ];
  const roots = spans.filter(({ parentId }) => !ids.has(parentId)).toSorted(byStart);
  return roots.flatMap((root) => draw(root, 0));
}

/** Their start, of equal ones the end, of equal ones the name: a stable order. */
function byStart(a: TestSpan, b: TestSpan): number {
  return Number(a.startNs - b.startNs) || Number(a.endNs - b.endNs) || (a.name < b.name ? -1 : 1);
}
