import { formatTraceparent, parseTraceparent } from '../../../src/observability/tracing/traceparent.ts';
import { bytesOf, type FuzzTarget, requireProperty, textOf } from '../fuzz-target.ts';

const CONTEXT = '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331';

/** The header of a client of :10250 or of CRI. */
export const TRACEPARENT: FuzzTarget = {
  name: 'traceparent',
  seeds: [`00-${CONTEXT}-01`, `00-${CONTEXT}-00`, `01-${CONTEXT}-03-more`, `ff-${CONTEXT}-01`].map(bytesOf),
  tokens: ['00', 'ff', '-', '0000000000000000'],
  errors: [],
  run(input) {
    const context = parseTraceparent(textOf(input));
    if (context === undefined) return undefined;
    const again = parseTraceparent(formatTraceparent(context));
    requireProperty(JSON.stringify(again) === JSON.stringify(context), 'written as another context');
    return context;
  },
};
