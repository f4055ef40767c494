// Runs the node conformance tests against one subject, inside the node that enter-node.sh has made. Started by
// conformance.ts; everything that it starts ends with the node.
//
//   run-in-node.ts PLAN      a JSON file, see RunPlan
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { debianRoot } from '../critest/debian-root.ts';
import { ImagePusher } from '../critest/push-image.ts';
import { writeRegistryHosts } from '../critest/registry-hosts.ts';
import { clusterTool, clusterToolsFolder } from '../integration/cluster-tools.ts';
import { makeCertificate, startRegistry } from '../integration/registry-fixture.ts';
import { CONFORMANCE_HOSTS, CONFORMANCE_PACKAGES, conformanceImages } from './conformance-images.ts';
import { KUBELET_CONFIG } from './kubelet-config.ts';
import { ginkgoFlags, type RunPlan } from './run-plan.ts';
import { SUBJECTS, type Subject } from './subjects.ts';

const NODE_ADDRESS = '10.200.0.2'; // of enter-node.sh

const [planFile = ''] = process.argv.slice(2);
const plan: RunPlan = JSON.parse(readFileSync(planFile, 'utf8'));
// The registry and the runtime would keep this process; they end with the node.
process.exit(await run(SUBJECTS[plan.subject]));

async function run(subject: Subject): Promise<number> {
  const registry = await startRegistry();
  const pusher = new ImagePusher(registry.address);
  const debian = debianRoot(dirname(clusterToolsFolder()), CONFORMANCE_PACKAGES);
  const certificate = makeCertificate(plan.folder);
  const agnhost = { program: clusterTool('agnhost'), certificate, key: join(plan.folder, 'key.pem') };
  for (const image of await conformanceImages(debian, agnhost)) await pusher.push(image);
  const hosts = join(plan.folder, 'hosts');
  writeRegistryHosts(hosts, CONFORMANCE_HOSTS, registry.address);
  const runtime = await subject.startRuntime(hosts);
  // A spec looks up the handlers of the runtime here.
  writeFileSync('/etc/containerd/config.toml', 'runtimes.test-handler\n');
  console.log(`${subject.title}: ${runtime.endpoint}`);
  return await runGinkgo(subject, runtime.endpoint);
}

async function runGinkgo(subject: Subject, endpoint: string): Promise<number> {
  const programs = join(plan.folder, 'bin');
  writeKubelet(programs, subject.command(clusterTool('kubelet')));
  const config = join(plan.folder, 'kubelet-config.json');
  writeFileSync(config, JSON.stringify(KUBELET_CONFIG));
  const suite = [
    `--k8s-bin-dir=${programs}`,
    `--container-runtime-endpoint=${endpoint}`,
    `--kubelet-config-file=${config}`,
    `--kubelet-flags=--node-ip=${NODE_ADDRESS}`,
    '--dns-domain=cluster.local',
    '--prepull-images=false', // its list has images of specs that are not selected
    `--report-dir=${plan.reports}`,
  ];
  const args = [...ginkgoFlags(plan), clusterTool('e2e_node.test'), '--', ...suite];
  const log = openSync(join(plan.reports, 'ginkgo.log'), 'w');
  const child = spawn(clusterTool('ginkgo'), args, { cwd: plan.folder, stdio: ['ignore', log, log] });
  closeSync(log);
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

/** The suite starts the program `kubelet` of a directory. */
function writeKubelet(folder: string, command: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'kubelet');
  writeFileSync(path, `#!/bin/sh\nexec ${command.join(' ')} "$@"\n`);
  chmodSync(path, 0o755);
}
