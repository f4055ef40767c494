// Runs the node conformance tests against one subject, inside the node that enter-node.sh has made (started by
// conformance.ts), or in a virtual machine. Everything that it starts ends with this process or the node.
//
//   run-in-node.ts PLAN      a JSON file, see RunPlan
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeRegistryHosts } from '../critest/registry-hosts.ts';
import { clusterTool } from '../integration/cluster-tools.ts';
import { CONFORMANCE_HOSTS } from './conformance-images.ts';
import { KUBELET_CONFIG } from './kubelet-config.ts';
import { pullImages } from './pull-images.ts';
import { ginkgoFlags, type RunPlan } from './run-plan.ts';
import { serveConformanceImages } from './serve-images.ts';
import { SUBJECTS, type Subject } from './subjects.ts';

/** Of the suite's own servers, on a slow machine. */
const SERVER_START = '20m';

const [planFile = ''] = process.argv.slice(2);
const plan: RunPlan = JSON.parse(readFileSync(planFile, 'utf8'));
// The registry and the runtime would keep this process; they end with the node.
process.exit(await run(SUBJECTS[plan.subject]));

async function run(subject: Subject): Promise<number> {
  const registry = plan.node.registry ?? (await serveConformanceImages()).address;
  const hosts = join(plan.folder, 'hosts');
  writeRegistryHosts(hosts, CONFORMANCE_HOSTS, registry);
  const runtime = await subject.startRuntime({ ...plan.node, hosts });
  await pullImages(runtime.endpoint, registry, plan.node.pullsFirst);
  // A spec looks up the handlers of the runtime here.
  mkdirSync('/etc/containerd', { recursive: true });
  writeFileSync('/etc/containerd/config.toml', 'runtimes.test-handler\n');
  console.log(`${subject.title}: ${runtime.endpoint}`);
  return await runGinkgo(subject, runtime.endpoint);
}

async function runGinkgo(subject: Subject, endpoint: string): Promise<number> {
  const programs = join(plan.folder, 'bin');
  const { address, cgroupDriver, nodelet, settleSeconds } = plan.node;
  writeKubelet(programs, subject.command({ kubelet: clusterTool('kubelet'), nodelet }), settleSeconds);
  const config = join(plan.folder, 'kubelet-config.json');
  writeFileSync(config, JSON.stringify({ ...KUBELET_CONFIG, cgroupDriver }));
  const suite = [
    `--k8s-bin-dir=${programs}`,
    `--container-runtime-endpoint=${endpoint}`,
    `--kubelet-config-file=${config}`,
    `--kubelet-flags=--node-ip=${address}`,
    '--dns-domain=cluster.local',
    '--prepull-images=false', // its list has images of specs that are not selected
    `--server-start-timeout=${SERVER_START}`,
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
function writeKubelet(folder: string, command: readonly string[], settleSeconds: number): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'kubelet');
  writeFileSync(path, `#!/bin/sh\nsleep ${settleSeconds}\nexec ${command.join(' ')} "$@"\n`);
  chmodSync(path, 0o755);
}
