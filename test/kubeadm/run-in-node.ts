// Runs kubeadm with Nodelet inside the node that enter-node.sh has made, and writes a transcript of its commands. Started
// by kubeadm-node.ts; everything that it starts ends with the node.
//
//   run-in-node.ts init|join FOLDER
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../src/base/error-text.ts';
import { initNode } from './init-node.ts';
import { joinNode } from './join-node.ts';
import { Recorder, transcriptFile } from './transcript.ts';

const LOGS = ['kubelet.log', 'cri.log'];
const TAIL = 4000;

const [name, folder = ''] = process.argv.slice(2);
const recorder = new Recorder();
try {
  await (name === 'init' ? initNode : joinNode)(folder, recorder);
  recorder.write(transcriptFile(folder));
} catch (error) {
  recorder.write(transcriptFile(folder), [errorText(error), ...LOGS.map(tailOf)].join('\n\n'));
}
process.exit(0);

function tailOf(name: string): string {
  const path = join(folder, name);
  return existsSync(path) ? `${name}: …${readFileSync(path, 'utf8').slice(-TAIL)}` : `${name}: none`;
}
