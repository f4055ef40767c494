import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLAGS } from './generated/flags.ts';
import { kubeletHelp } from './kubelet-help.ts';

const HELP = kubeletHelp();

test('kubeletHelp() lists every flag once', () => {
  const listed = [...HELP.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm)].map(([, name]) => name);
  const wanted = ['own', 'field', 'none'].flatMap((each) => FLAGS.filter(({ meaning }) => meaning.class === each));
  assert.deepEqual(
    listed,
    wanted.map(({ name }) => name),
  );
});

test('kubeletHelp() fits a terminal', () => {
  const long = HELP.split('\n').filter((line) => line.length > 110);
  assert.deepEqual(long, []);
});

const entries: Record<string, string> = {
  'a flag of its own':
    "\n  --cert-dir string\n      folder of the kubelet's own certificates (default /var/lib/kubelet/pki)\n",
  'a flag that sets a field': '\n  --max-pods int32\n      pods that may run on the node (default 110) [maxPods]\n',
  'a flag with a letter':
    '\n  -v, --v level\n      how much is logged; 0 means as much as 2 (default 0) [logging.verbosity]\n',
  'a flag that takes no word': '\n  -h, --help\n      show this text\n',
  'a flag that means nothing':
    '\n  --storage-driver-db string\n      database of a statistics store (default cadvisor)\n',
};

for (const [name, text] of Object.entries(entries)) {
  test(`kubeletHelp() shows ${name}`, () => {
    assert.ok(HELP.includes(text), HELP);
  });
}
