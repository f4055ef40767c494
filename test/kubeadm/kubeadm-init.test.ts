/** kubeadm makes a control plane of a node whose kubelet is Nodelet and whose container runtime is `nodelet cri`. */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { before, describe, test } from 'node:test';
import { debianRoot } from '../critest/debian-root.ts';
import { clusterToolsFolder, clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { registryMissingReason } from '../integration/registry-fixture.ts';
import { CONTROL_PLANE_TOOLS, KUBEADM_PACKAGES } from './control-plane-images.ts';
import { CGROUP_CHECKS, foundChecks, kubeadmSkipReason, runKubeadm, stepOf } from './kubeadm-node.ts';
import type { Transcript } from './transcript.ts';

const skip = clusterToolsSkipReason(...CONTROL_PLANE_TOOLS) || registryMissingReason() || kubeadmSkipReason();

describe('kubeadm init', { skip }, () => {
  let transcript: Transcript;
  before(async () => {
    debianRoot(dirname(clusterToolsFolder()), KUBEADM_PACKAGES); // downloaded here: the node reaches no network
    transcript = await runKubeadm('init');
  });
  const output = (name: string): string => stepOf(transcript, name).output;
  const lines = (name: string): readonly string[] => stepOf(transcript, name).stdout.split('\n').filter(Boolean);

  test('passes every check that this machine can pass, and warns of what it lacks alone', () => {
    assert.deepEqual(foundChecks(output('init')), [
      'WARNING Firewalld: no supported init system detected, skipping checking for services',
      ...CGROUP_CHECKS,
      'WARNING Service-kubelet: no supported init system detected, skipping checking for services',
    ]);
  });

  test('starts the control plane as static pods', () => {
    for (const component of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
      assert.match(output('init'), new RegExp(`\\[control-plane-check\\] ${component} is healthy after`));
    assert.match(output('init'), /Your Kubernetes control-plane has initialized successfully/);
  });

  test('finalizes kubelet with a certificate that is rotated', () => {
    assert.match(output('init'), /\[kubelet-finalize\] Updating "\/etc\/kubernetes\/kubelet\.conf"/);
  });

  test('the node becomes ready with a pod network, and the add-ons run', () => {
    assert.match(output('ready'), /condition met/);
    assert.match(output('daemonset/kube-proxy'), /successfully rolled out/);
    assert.match(output('deployment/coredns'), /successfully rolled out/);
  });

  test('a scheduled pod finds the API server by name and reaches it by its service', () => {
    assert.match(output('name'), /^Address: 10\.96\.0\.1$/m);
    assert.match(output('service'), /Client sent an HTTP request to an HTTPS server/);
  });

  test('the containers of the control plane outlive the kubelet', () => {
    assert.equal(lines('containers').length, 8); // four of the control plane, kube-proxy, CoreDNS twice, the pod
    assert.deepEqual(lines('containers after restart').toSorted(), lines('containers').toSorted());
  });

  test('kubeadm reset removes its pods and files', () => {
    assert.doesNotMatch(output('reset'), /^W.*(sandbox|container)/m);
    assert.deepEqual(lines('sandboxes after reset'), []);
    assert.deepEqual(lines('files after reset'), []);
  });
});
