import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pullHelp, unwrapError } from './error-texts.ts';

const cases: Record<string, string | undefined> = {
  'Head "http://localhost:5999/v2/x/y/manifests/1": dial tcp 127.0.0.1:5999: connect: connection refused':
    'Nothing listens at 127.0.0.1:5999: the registry is down, or elsewhere.',
  'dial tcp: lookup registry.example on 10.0.0.53:53: no such host':
    'There is no machine called registry.example: the name of the image may be wrong.',
  'dial tcp: lookup registry.example on 10.0.0.53:53: server misbehaving':
    'The address of registry.example cannot be found out: the name server does not answer.',
  'dial tcp 10.0.0.1:443: i/o timeout': 'The registry did not answer in time.',
  'dial tcp 10.0.0.1:443: connect: no route to host': 'This machine has no way to the registry.',
  'pulling from host localhost:5998 failed with status code [manifests 1]: 401 Unauthorized':
    'The registry wants credentials, or other ones: a Secret that has them can be named under imagePullSecrets.',
  'tls: failed to verify certificate: x509: certificate signed by unknown authority':
    'This machine does not trust the certificate of the registry.',
  'http: server gave HTTP response to HTTPS client': 'The registry speaks HTTP, where HTTPS is expected.',
  'localhost:5997/x/none:1: not found': 'The registry answers, but has no image of that name and tag.',
  'write /x: no space left on device': 'The disk is full.',
  'connect ECONNREFUSED 127.0.0.1:5999': 'Nothing listens at 127.0.0.1:5999: the registry is down, or elsewhere.',
  'https://registry.example/v2: via proxy proxy:3128: connect ECONNREFUSED 10.0.0.9:3128':
    'The proxy proxy:3128 does not lead there; HTTPS_PROXY, HTTP_PROXY and NO_PROXY say when it is used.',
  'getaddrinfo ENOTFOUND registry.example':
    'There is no machine called registry.example: the name of the image may be wrong.',
  'getaddrinfo EAI_AGAIN registry.example':
    'The address of registry.example cannot be found out: the name server does not answer.',
  'https://registry.example:443/v2/x/manifests/1: status 401: UNAUTHORIZED: authentication required (asked without a login)':
    'The registry wants credentials, or other ones: a Secret that has them can be named under imagePullSecrets.',
  'https://registry.example:443/v2/x/manifests/1: status 404: MANIFEST_UNKNOWN: manifest unknown':
    'The registry answers, but has no image of that name and tag.',
  'self-signed certificate': 'This machine does not trust the certificate of the registry.',
  'short read: unexpected EOF': undefined,
};

for (const [error, help] of Object.entries(cases)) {
  test(`pullHelp() of ${error}`, () => assert.equal(pullHelp(error), help));
}

test('unwrapError() removes the prefixes of gRPC and line feeds', () => {
  const text = 'cannot pull: rpc error: code = NotFound desc = rpc error: code = Unknown desc = no\n such image\n';
  assert.equal(unwrapError(text), 'cannot pull: no such image');
});

test('unwrapError() names the volume', () => {
  const wrapped = 'MountVolume.SetUp failed for volume "conf" : configmap "settings" not found';
  assert.equal(unwrapError(wrapped), 'volume "conf": configmap "settings" not found');
});

const unwrapped: Record<string, string> = {
  'Failed to pull image "web:2": failed to pull and unpack image "web:2": failed to resolve reference "web:2": web:2: not found':
    'web:2: not found',
  'Failed to pull image "web:2": failed to pull and unpack image "web:2": failed to resolve image: web:2: not found':
    'web:2: not found',
  'Back-off pulling image "web:2": ErrImagePull: no such host': 'no such host',
  'Back-off pulling image "web:2"': 'Back-off pulling image "web:2"',
  [`Exec lifecycle hook ([sh -c "a"]) for Container "c" in Pod "p_ns(u)" failed - error: command 'sh' exited with 9: no\n, message: "no\\n"`]:
    "command 'sh' exited with 9: no",
  [`Exec lifecycle hook ([sh]) for Container "c" in Pod "p_ns(u)" failed - error: command 'sh' exited with 8: , message: ""`]:
    "command 'sh' exited with 8",
};

for (const [error, text] of Object.entries(unwrapped)) {
  test(`unwrapError() of ${JSON.stringify(error)}`, () => assert.equal(unwrapError(error), text));
}
