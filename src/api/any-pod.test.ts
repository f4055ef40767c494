import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeManifest } from './decode/decode-manifest.ts';
import { defaultPod } from './defaults/default-pod.ts';
import { SCHEMA } from './generated/core-v1-schema.ts';
import { podLimits, podRequests } from './pod-resources.ts';
import { qosClass } from './qos.ts';
import { toStaticPod } from './static-pod.ts';
import { validatePod } from './validation/validate-pod.ts';

const SCALARS: Record<string, fc.Arbitrary<unknown>> = {
  string: fc.constantFrom('', 'web', 'a.b', '../x', 'Always', 'metadata.name', 'busybox:1', '10.0.0.1', '"\n'),
  bytes: fc.base64String(),
  time: fc.constant('2026-11-15T09:02:09Z'),
  int32: fc.integer(),
  int64: fc.maxSafeInteger(),
  bool: fc.boolean(),
  quantity: fc.constantFrom('1', '100m', '-1', '1.5Gi', '1e3', '0.1n', 2, 0.5),
  'int-or-string': fc.oneof(fc.integer(), fc.string()),
  object: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
};

/** Anything that the schema allows for a message, required members or not. */
function anyMessage(message: string, depth: number): fc.Arbitrary<object> {
  const fields = Object.entries(SCHEMA[message] ?? {}).map(([name, type]) => [name, anyField(type, depth)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: depth === 0 ? ['metadata', 'spec'] : [] });
}

function anyField(text: string, depth: number): fc.Arbitrary<unknown> {
  const [, type = '', shape = ''] = /^([\w-]+)(\[\]|\{\})?/.exec(text) ?? [];
  const one = SCALARS[type] ?? (depth > 4 ? fc.constant({}) : fc.memo(() => anyMessage(type, depth + 1))());
  if (shape === '[]') return fc.array(one, { maxLength: 2 });
  return shape === '{}' ? fc.dictionary(fc.constantFrom('cpu', 'memory', 'a/b', ''), one, { maxKeys: 2 }) : one;
}

const anyPod = anyMessage('Pod', 0).map((pod) => ({ ...pod, apiVersion: 'v1', kind: 'Pod' }));

test('any pod of the schema is decoded, and can be looked at from every side', () => {
  const origin = { source: 'file', location: '/x', nodeName: 'n', seen: '2026-11-15T09:02:09Z' } as const;
  fc.assert(
    fc.property(anyPod, (given) => {
      const { pods, errors } = decodeManifest(JSON.stringify(given), { file: 'x' });
      assert.deepEqual(errors, []);
      for (const { object, locate } of pods) {
        const pod = defaultPod(object);
        assert.deepEqual(defaultPod(pod), pod);
        for (const { path } of validatePod(pod)) assert.ok(locate(path).line > 0);
        qosClass(pod);
        podRequests(pod);
        podLimits(pod);
        assert.equal(toStaticPod(pod, origin).metadata.uid, toStaticPod(pod, origin).metadata.uid);
      }
    }),
    { numRuns: 60 },
  );
});

test('decodeManifest() has an answer to any text', () => {
  const anyText = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.json().map((json) => `{"apiVersion": "v1", "kind": "Pod", "spec": ${json}}`),
    fc
      .array(fc.constantFrom('a:', ' - ', '\n', '{', ']', '&x', '*x', '<<: ', '"', '|', '---\n', '? ', '!!int '))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(anyText, (text) => {
      for (const { line, column } of decodeManifest(text, { file: 'x' }).errors) assert.ok(line > 0 && column > 0);
    }),
    { numRuns: 300 },
  );
});
