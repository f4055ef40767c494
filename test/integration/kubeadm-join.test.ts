/** kubeadm joins a node whose kubelet is Nodelet and whose container runtime is `nodelet cri`. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CGROUP_CHECKS, foundChecks, kubeadmSkipReason, runKubeadm, stepOf } from '../kubeadm/kubeadm-node.ts';
import type { Transcript } from '../kubeadm/transcript.ts';

const skip = kubeadmSkipReason();

describe('kubeadm join', { skip }, () => {
  let transcript: Transcript;
  before(async () => {
    transcript = await runKubeadm('join');
  });
  const output = (name: string): string => stepOf(transcript, name).output;
  const lines = (name: string): readonly string[] => stepOf(transcript, name).stdout.split('\n').filter(Boolean);
  const json = (name: string) => JSON.parse(stepOf(transcript, name).stdout);

  test('passes every check that this machine can pass, and warns of what it lacks alone', () => {
    assert.deepEqual(foundChecks(output('join')), [
      ...CGROUP_CHECKS,
      'WARNING Service-kubelet: no supported init system detected, skipping checking for services',
    ]);
  });

  test('finds kubelet healthy and its certificate issued', () => {
    assert.match(output('join'), /The kubelet is healthy after/);
    assert.match(output('join'), /This node has joined the cluster/);
  });

  test('the node starts with the files of kubeadm and gets its certificate by TLS bootstrap', () => {
    assert.deepEqual(lines('flags'), [
      'KUBELET_KUBEADM_ARGS=""',
      'containerRuntimeEndpoint: "unix:///run/nodelet/cri.sock"',
    ]);
    const files = lines('files').map((path) => path.replace(/\d{4}(-\d\d){5}/, 'TIME'));
    const wanted = [
      '/etc/kubernetes/kubelet.conf',
      '/etc/kubernetes/pki/ca.crt',
      '/var/lib/kubelet/config.yaml',
      '/var/lib/kubelet/pki/kubelet-client-TIME.pem',
      '/var/lib/kubelet/pki/kubelet-client-current.pem',
    ];
    assert.deepEqual(
      wanted.filter((path) => !files.includes(path)),
      [],
    );
    assert.equal(files.includes('/etc/kubernetes/bootstrap-kubelet.conf'), false);
    const [request, ...more] = json('requests').items;
    assert.deepEqual(
      [request.spec.username, request.status.conditions[0].reason, more],
      ['system:bootstrap:abcdef', 'AutoApproved', []],
    );
  });

  test('the node is ready under the version of kubelet', () => {
    const { status } = json('node');
    assert.equal(status.nodeInfo.kubeletVersion, 'v1.36.4');
    assert.match(status.nodeInfo.containerRuntimeVersion, /^nodelet:\/\//);
    assert.match(output('ready'), /condition met/);
  });

  test('pods run on it', () => {
    assert.equal(output('logs'), 'hello\n');
    assert.equal(output('exec'), 'web\n');
  });

  test('kubeadm upgrade node renews its configuration, with which it restarts', () => {
    assert.match(output('upgrade'), /The kubelet configuration for this node was successfully upgraded/);
    assert.equal(output('logs after restart'), 'hello\n');
  });

  test('kubeadm reset removes its pods and files', () => {
    assert.doesNotMatch(output('reset'), /^W.*(sandbox|container)/m);
    assert.deepEqual(lines('sandboxes after reset'), []);
    assert.deepEqual(lines('files after reset'), []);
  });
});
