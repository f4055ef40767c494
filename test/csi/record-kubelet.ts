/**
 * Records what kubelet does with the volumes of a CSI driver, into test/data/csi/golden.
 *
 *   node test/csi/record-kubelet.ts [CASE…]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CSI_CASES } from './csi-cases.ts';
import { recordRegistration, runCsiCase, startCsiNode } from './run-csi-cases.ts';

const FOLDER = process.env['NODELET_CSI_GOLDEN'] ?? join(import.meta.dirname, '../data/csi/golden');
const CONCURRENCY = 4;
const wanted = process.argv.slice(2);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);

function write(name: string, recording: object): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify(recording, undefined, 2)}\n`);
  process.stderr.write(`recorded ${name}\n`);
}

const node = await startCsiNode();
try {
  if (isWanted('registration')) write('registration', await recordRegistration(node));
  const left = Object.entries(CSI_CASES).filter(([name]) => isWanted(name));
  const recordNext = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) write(next[0], await runCsiCase(node, ...next));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, recordNext));
} finally {
  await node.stop();
}
