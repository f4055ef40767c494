import assert from 'node:assert/strict';
import test from 'node:test';
import { sandboxTrouble } from './sandbox-words.ts';

const causes: Record<string, string> = {
  'runtimeclass.node.k8s.io "fast" not found': 'there is no runtime class "fast"',
  'rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "kata" is configured':
    'the runtime has no handler "kata"',
  "can't set `spec.hostUsers: false`, runtime does not support user namespaces":
    'the runtime cannot give it users of its own',
};

for (const [error, cause] of Object.entries(causes)) {
  test(`sandboxTrouble() of ${error}`, () => assert.equal(sandboxTrouble(error)?.cause, cause));
}

test('sandboxTrouble() leaves to the runtime what is its own', () => {
  assert.equal(sandboxTrouble('rpc error: code = Unknown desc = no CNI plugin'), undefined);
});
