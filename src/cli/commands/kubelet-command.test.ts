import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scriptedContext } from '../fake/scripted-context.ts';
import { kubeletCommand } from './kubelet-command.ts';

const cases: Record<string, { flags: readonly string[]; says: RegExp }> = {
  'a flag that does not exist': { flags: ['--nosuch'], says: /error: unknown flag: --nosuch\n/ },
  'a flag without its value': { flags: ['--root-dir'], says: /error: flag needs an argument: --root-dir\n/ },
  'an invalid value': { flags: ['--max-pods=many'], says: /error: invalid argument "many" for "--max-pods" flag/ },
  'an argument': { flags: ['extra'], says: /error: unknown command extra\n/ },
  'a configuration that is not there': { flags: ['--config=/no/such'], says: /error: \/no\/such: failed to read/ },
};

for (const [name, { flags, says }] of Object.entries(cases)) {
  test(`kubelet ends with 2 for ${name}`, async () => {
    const { context, written } = scriptedContext();
    assert.equal(await kubeletCommand(flags, context), 2);
    assert.match(written.stderr, says);
    assert.equal(written.stdout, '');
  });
}

test('kubelet shows its help and its version without a look at the rest', async () => {
  for (const flags of [['--help'], ['--version']]) {
    const { context, written } = scriptedContext();
    assert.equal(await kubeletCommand(flags, context), 0);
    assert.notEqual(written.stdout, '');
  }
});
