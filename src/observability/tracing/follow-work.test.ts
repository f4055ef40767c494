import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectSpans } from '../../../test/traces/memory-spans.ts';
import { drawTraces, type TestSpan } from '../../../test/traces/trace-tree.ts';
import { continueTrace, outgoingTraceparent, traceSyncWork, traceWork, type Work } from '../../base/trace-work.ts';
import { CriError } from '../../cri/cri-error.ts';
import { instrument } from '../../cri/instrument.ts';
import { buildCri, type Cri } from '../../cri/services.ts';

const CALLER = '0af7651916cd43dd8448eb211c80319c';
const CALL = 'b7ad6b7169203331';
const signal = new AbortController().signal;

const begin = (name: string, run: () => Promise<unknown>, work: Partial<Work> = {}): Promise<unknown> =>
  traceWork(() => ({ name, subject: name, ...work }), run);
const inside = (name: string, run: () => Promise<unknown> = async () => {}): Promise<unknown> =>
  traceWork(() => ({ name }), run);
const fail = async (): Promise<never> => {
  throw new Error('broken');
};

/** A runtime whose calls run `handle`. */
function runtime(handle: () => Promise<unknown>, side: 'client' | 'server' = 'client'): Cri {
  return instrument(buildCri({ unary: () => handle, stream: () => async function* () {} }), { side });
}

/** The spans of some work: names, kinds beside internal ones, errors. */
const draw = (spans: readonly TestSpan[]): string[] =>
  drawTraces(
    spans,
    ({ kind, error }) => `${kind === 'internal' ? '' : ` ${kind}`}${error === undefined ? '' : `: ${error}`}`,
  );

const trees: Record<string, { readonly run: () => Promise<unknown>; readonly tree: readonly string[] }> = {
  'follows calls and promises': {
    run: () =>
      begin('sync', async () => {
        await Promise.resolve();
        await Promise.all([inside('a', () => inside('b')), inside('c')]);
      }),
    tree: ['sync', '  a', '    b', '  c'],
  },
  'follows work that is done at once': {
    run: async () =>
      traceSyncWork(
        () => ({ name: 'add', subject: 'pod' }),
        () => begin('sync', () => inside('a'), { subject: 'pod' }),
      ),
    tree: ['add', '  sync', '    a'],
  },
  'shows no inner work outside of a trace': { run: () => inside('a'), tree: [] },
  'begins a trace for another subject': {
    run: () => begin('one', () => begin('two', () => inside('a'))),
    tree: ['one', 'two', '  a'],
  },
  'begins no child of work that has ended': {
    run: async () => {
      let left: Promise<unknown> | undefined;
      const later = Promise.withResolvers<void>();
      await begin('sync', async () => {
        left = later.promise.then(() => inside('a'));
      });
      later.resolve();
      await left;
    },
    tree: ['sync'],
  },
  'shows errors where they pass': {
    run: () => begin('sync', () => inside('a', fail)).catch(() => {}),
    tree: ['sync: broken', '  a: broken'],
  },
  'shows work that throws at once': {
    run: () =>
      begin('sync', async () => {
        await inside('a', () => {
          throw new Error('at once');
        });
      }).catch(() => {}),
    tree: ['sync: at once', '  a: at once'],
  },
  'shows calls to the runtime with what they do': {
    run: () => begin('sync', () => runtime(() => inside('mount')).runtime.startContainer({ containerId: 'c' }, signal)),
    tree: ['sync', '  runtime.v1.RuntimeService/StartContainer client', '    mount'],
  },
  'shows calls to the runtime outside of a trace': {
    run: () => runtime(async () => ({})).images.listImages({ filter: undefined }, signal),
    tree: ['runtime.v1.ImageService/ListImages client'],
  },
  'shows failed calls as a client sees them': {
    run: () =>
      runtime(() => Promise.reject(new CriError('NotFound', 'no')))
        .runtime.startContainer({ containerId: 'c' }, signal)
        .catch(() => {}),
    tree: ['runtime.v1.RuntimeService/StartContainer client: no'],
  },
  'shows no error of a server that answers no': {
    run: () =>
      runtime(() => Promise.reject(new CriError('NotFound', 'no')), 'server')
        .runtime.startContainer({ containerId: 'c' }, signal)
        .catch(() => {}),
    tree: ['runtime.v1.RuntimeService/StartContainer server'],
  },
};

for (const [name, { run, tree }] of Object.entries(trees)) {
  test(`followWork() ${name}`, async () => {
    await using spans = collectSpans();
    await run();
    assert.deepEqual(draw(spans.all()), tree);
  });
}

test('followWork() continues the trace of a caller, and passes it on', async () => {
  await using spans = collectSpans(0);
  const headers: (string | undefined)[] = [];
  const call = async (): Promise<unknown> => {
    headers.push(outgoingTraceparent());
    return {};
  };
  await continueTrace(
    () => `00-${CALLER}-${CALL}-01`,
    () => runtime(call, 'server').runtime.status({ verbose: false }, signal),
  );
  const [span] = spans.all();
  assert.deepEqual([span?.traceId, span?.parentId], [CALLER, CALL]);
  assert.deepEqual(headers, [`00-${CALLER}-${span?.spanId}-01`]);
});

test('followWork() does not show what a caller does not sample, and passes that on', async () => {
  await using spans = collectSpans();
  const headers: (string | undefined)[] = [];
  const call = async (): Promise<unknown> => {
    headers.push(outgoingTraceparent());
    return {};
  };
  await continueTrace(
    () => `00-${CALLER}-${CALL}-00`,
    () => runtime(call, 'server').runtime.status({ verbose: false }, signal),
  );
  assert.deepEqual(spans.all(), []);
  assert.match(headers[0] ?? '', new RegExp(`^00-${CALLER}-[0-9a-f]{16}-00$`));
});

test('followWork() begins a trace for a client that must not be trusted, and refers to the trace of the client', async () => {
  await using spans = collectSpans();
  await begin('/pods/', async () => {}, { kind: 'server', link: `00-${CALLER}-${CALL}-01` });
  const [span] = spans.all();
  assert.notEqual(span?.traceId, CALLER);
  assert.deepEqual([span?.parentId, span?.links], ['', [CALL]]);
});

test('followWork() takes facts of the beginning and of the result', async () => {
  await using spans = collectSpans();
  const factsOf = (status: unknown) => ({ 'http.response.status_code': Number(status), 'error.type': String(status) });
  await begin('HTTP GET', async () => 404, { kind: 'client', facts: { a: 1, b: undefined, c: ['d'] }, factsOf });
  const [span] = spans.all();
  assert.deepEqual({ ...span?.attributes }, { a: 1, c: ['d'], 'http.response.status_code': 404, 'error.type': '404' });
  assert.equal(span?.error, '');
});

test('followWork() stops when the tracer is disposed', async () => {
  await using first = collectSpans();
  await first[Symbol.asyncDispose]();
  let isDescribed = false;
  await traceWork(
    () => {
      isDescribed = true;
      return { name: 'sync', subject: 'pod' };
    },
    async () => {},
  );
  assert.deepEqual([isDescribed, outgoingTraceparent()], [false, undefined]);
});
