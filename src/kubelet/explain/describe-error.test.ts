import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCause } from '../pod/pod-cause.ts';
import {
  describeConfigError,
  describeSandboxError,
  describeVolumeError,
  type ErrorDescription,
} from './describe-error.ts';

const configErrors: readonly (readonly [ErrorCause, ErrorDescription])[] = [
  [
    { kind: 'objectNotFound', object: 'configmap', name: 'settings' },
    { text: 'needs ConfigMap "settings", which does not exist' },
  ],
  [{ kind: 'objectNotFound', object: 'secret', name: 'login' }, { text: 'needs Secret "login", which does not exist' }],
  [
    { kind: 'keyNotFound', object: 'secret', name: 'shop/login', key: 'user' },
    { text: 'needs key "user" of Secret shop/login, which does not have it' },
  ],
  [
    { kind: 'objectNotSynced', object: 'configmap' },
    { text: 'needs a ConfigMap, and the API server has not answered yet' },
  ],
  [
    { kind: 'claimNotReady', claim: 'c', error: 'PVC is not bound' },
    { text: 'needs PersistentVolumeClaim "c", which is not ready: PVC is not bound' },
  ],
  [
    { kind: 'volumeNotAttached', persistentVolume: 'pv-1', isReported: false },
    { text: 'waits until the API server has pv-1 in the volumesInUse of the node' },
  ],
  [{ kind: 'servicesNotSynced' }, { text: 'needs the variables of services, and the API server has not answered yet' }],
  [
    { kind: 'envFileInvalid' },
    { text: "takes variables from a file that is missing, or has other lines than NAME='value'" },
  ],
  [
    { kind: 'runsAsRoot', from: 'image' },
    {
      text: 'must not run as root (runAsNonRoot), and its image does',
      help: 'Set its runAsUser to a user other than 0, or use an image that names one.',
    },
  ],
  [{ kind: 'runsAsRoot', from: 'spec' }, { text: 'must not run as root (runAsNonRoot), and its runAsUser is 0' }],
  [
    { kind: 'userNotNumeric', user: 'www' },
    {
      text: 'must not run as root (runAsNonRoot), and the user "www" of its image may be root',
      help: 'Set its runAsUser to their number.',
    },
  ],
  [
    { kind: 'volumeOfOtherNode' },
    { text: 'is bound to a PersistentVolume of another node', help: 'Its node affinity excludes this node.' },
  ],
  [
    { kind: 'programMissing', program: 'mount.nfs' },
    { text: 'needs the program mount.nfs, which is not installed on this machine' },
  ],
  [
    { kind: 'volumeFailed', volume: 'data', cause: { kind: 'serverNotResponding', source: 'files:/export' } },
    { text: 'needs volume "data", which is mounted from files:/export, which does not answer' },
  ],
  [
    { kind: 'subPathFailed', volume: 'data' },
    {
      text: 'cannot have its subPath of volume "data"',
      help: 'Its path has a file or a link out of the volume in it, or cannot be written.',
    },
  ],
  [{ kind: 'trustBundleNotFound', name: 'corp' }, { text: 'needs ClusterTrustBundle "corp", which does not exist' }],
  [
    { kind: 'trustBundlesNotFound', signer: 'a/b' },
    { text: 'needs a ClusterTrustBundle of signer "a/b", and none has the labels it selects' },
  ],
  [{ kind: 'trustBundlesNotSynced' }, { text: 'needs a ClusterTrustBundle, and the API server has not answered yet' }],
  [
    { kind: 'trustBundlesUnavailable', why: 'gateOff' },
    {
      text: 'needs a ClusterTrustBundle',
      help: 'The feature gate ClusterTrustBundleProjection of this node is off.',
    },
  ],
  [
    { kind: 'trustBundlesUnavailable', why: 'notServed' },
    {
      text: 'needs a ClusterTrustBundle',
      help: 'The API server does not serve ClusterTrustBundles of certificates.k8s.io/v1beta1.',
    },
  ],
  [
    { kind: 'podCertificatesUnavailable', why: 'standalone' },
    { text: 'needs a certificate of a signer', help: 'This node has no API server, which provides it.' },
  ],
  [
    { kind: 'podCertificateNotIssued', signer: 'a/b', request: 'default/req-x' },
    {
      text: 'needs a certificate of signer "a/b", which has not issued it yet',
      help: 'The signer has to answer PodCertificateRequest default/req-x.',
    },
  ],
  [
    { kind: 'podCertificateNotIssued', signer: 'a/b' },
    { text: 'needs a certificate of signer "a/b", which is being requested' },
  ],
  [
    { kind: 'podCertificateNotIssued', signer: 'a/b', error: 'while fetching service account: forbidden' },
    {
      text: 'needs a certificate of signer "a/b", which cannot be requested: while fetching service account: forbidden',
    },
  ],
  [
    { kind: 'podCertificateRefused', signer: 'a/b', outcome: 'denied', reason: 'Policy', message: 'not this pod' },
    {
      text: 'needs a certificate of signer "a/b", which has denied it (Policy): not this pod',
      help: 'It is not requested again for this pod; a new pod requests a new one.',
    },
  ],
];

for (const [cause, description] of configErrors) {
  test(`describeConfigError() of ${JSON.stringify(cause)}`, () => {
    assert.deepEqual(describeConfigError(cause, ''), description);
  });
}

const runtimeErrors: Record<string, ErrorDescription | undefined> = {
  'failed to create containerd container: cannot load seccomp profile "/s/x.json": open /s/x.json: no such file or directory':
    { text: 'needs the seccomp profile "/s/x.json", which does not exist' },
  'cannot load seccomp profile "/s/x.json": invalid character': undefined,
};

for (const [error, description] of Object.entries(runtimeErrors)) {
  test(`describeConfigError() of the runtime's ${error}`, () => {
    assert.deepEqual(describeConfigError(undefined, error), description);
  });
}

const volumeErrors: readonly (readonly [ErrorCause | undefined, string | undefined])[] = [
  [
    { kind: 'objectNotFound', object: 'configmap', name: 'settings' },
    'volume "conf" needs ConfigMap "settings", which does not exist',
  ],
  [
    { kind: 'keyNotFound', object: 'configmap', name: 'settings', key: 'a' },
    'volume "conf" needs key "a" of ConfigMap "settings", which does not have it',
  ],
  [
    { kind: 'keyNotFound', object: 'secret', name: 'admin', key: 'b' },
    'volume "conf" needs key "b" of Secret "admin", which does not have it',
  ],
  [undefined, 'no such device'],
];

for (const [cause, text] of volumeErrors) {
  test(`describeVolumeError() of ${JSON.stringify(cause)}`, () => {
    const failed = { kind: 'volumeFailed', volume: 'conf', cause } as const;
    assert.equal(describeVolumeError(failed, 'no such device')?.text, text);
  });
}

test('describeVolumeError() leaves out errors of no single volume', () => {
  assert.equal(describeVolumeError(undefined, 'ENOSPC: no space left on device'), undefined);
});

const sandboxErrors: readonly (readonly [cause: ErrorCause | undefined, error: string, summary: string | undefined])[] =
  [
    [
      { kind: 'runtimeClassNotFound', name: 'fast' },
      'runtimeclass.node.k8s.io "fast" not found',
      'there is no runtime class "fast"',
    ],
    [
      undefined,
      'rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "kata" is configured',
      'the runtime has no handler "kata"',
    ],
    [{ kind: 'userNamespacesUnsupported' }, '', 'the runtime does not support user namespaces'],
    [{ kind: 'networkNotReady' }, '', 'the network of the runtime is not ready'],
    [undefined, 'rpc error: code = Unknown desc = no CNI plugin', undefined],
  ];

for (const [cause, error, summary] of sandboxErrors) {
  test(`describeSandboxError() of ${JSON.stringify(cause ?? error)}`, () => {
    assert.equal(describeSandboxError(cause, error)?.summary, summary);
  });
}
