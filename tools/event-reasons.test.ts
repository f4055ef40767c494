import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { EVENT_REASONS } from '../src/kubelet/pod/event-reason.ts';

const ROOT = `${import.meta.dirname}/..`;

/** Code of the product, without this declaration. */
async function* sources(): AsyncGenerator<string> {
  for await (const file of glob('src/**/*.ts', { cwd: ROOT })) {
    const isCode = !file.endsWith('.test.ts') && !file.endsWith('/event-reason.ts');
    if (isCode) yield await readFile(`${ROOT}/${file}`, 'utf8');
  }
}

/** kubelet's reasons that the agent never records; `docs/parity.md` says of each why. */
async function explainedReasons(): Promise<readonly string[]> {
  const parity = await readFile(`${ROOT}/docs/parity.md`, 'utf8');
  const [, section = ''] = parity.split('\n### Events that are never recorded\n');
  const [table = ''] = section.split('\n## ');
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, reason = '']) => reason));
}

test('every event reason of kubelet is recorded, or docs/parity.md says why it is not', async () => {
  const upstream = (await readFile(`${ROOT}/compat/event-reasons.txt`, 'utf8')).trim().split('\n');
  const recorded = new Set<string>(EVENT_REASONS);
  const missing = upstream.filter((reason) => !recorded.has(reason));
  assert.deepEqual(missing.toSorted(), (await explainedReasons()).toSorted());
});

test('every declared event reason is used', async () => {
  const unused = new Set<string>(EVENT_REASONS);
  for await (const text of sources()) {
    for (const reason of unused) if (text.includes(`'${reason}'`)) unused.delete(reason);
  }
  assert.deepEqual([...unused], []);
});
