import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../base/rfc3339.ts';
import { serveFlagz, serveStatusz } from './serve-zpages.ts';

const STATUS = {
  startedMs: parseTime('2026-11-08T09:05:06Z'),
  nowMs: parseTime('2026-11-09T10:06:08Z'),
  languageVersion: 'nodelet1.0.0',
  kubernetesVersion: 'v1.36.4',
  paths: ['/metrics', '/debug/flags/v', '/healthz', '/healthz/ping'],
};
const FLAGS = { v: '2', address: '0.0.0.0', 'cluster-dns': '[]', config: '' };

function ask(accept?: string, query = '') {
  return { headers: accept === undefined ? {} : { accept }, query: new URLSearchParams(query) };
}

test('/statusz is text unless an object is asked for', () => {
  const text = serveStatusz(STATUS, ask());
  assert.equal(
    text.body,
    `
kubelet statusz
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.

Started: Sun Nov  8 09:05:06 UTC 2026
Up: 25 hr 01 min 02 sec
Go version: nodelet1.0.0
Binary version: 1.36.4
Emulation version: 1.36
Paths: /debug /healthz /metrics
`,
  );
});

test('/statusz is an object of config.k8s.io in the encoding that is asked for', () => {
  const { headers, body } = serveStatusz(STATUS, ask('application/json;as=Statusz;g=config.k8s.io;v=v1beta1'));
  assert.equal(headers?.['content-type'], 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz');
  assert.deepEqual(JSON.parse(String(body)), {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'kubelet' },
    startTime: '2026-11-08T09:05:06Z',
    uptimeSeconds: 90_062,
    goVersion: 'nodelet1.0.0',
    binaryVersion: '1.36.4',
    emulationVersion: '1.36',
    paths: ['/debug', '/healthz', '/metrics'],
  });
});

test('/flagz in YAML has quotes where a text would be something else', () => {
  const { body } = serveFlagz(FLAGS, ask('application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz'));
  assert.equal(
    body,
    `apiVersion: config.k8s.io/v1beta1
flags:
  address: 0.0.0.0
  cluster-dns: '[]'
  config: ""
  v: "2"
kind: Flagz
metadata:
  name: kubelet
`,
  );
});

const OLD = '299 - "This version of the flagz endpoint is deprecated. Please use a newer version."';
const OBJECT = 'v=v1beta1;g=config.k8s.io;as=Flagz';
const FORMATS: readonly (readonly [accept: string, status: number, type: string, warning?: string])[] = [
  ['', 200, 'text/plain; charset=utf-8'],
  ['*/*', 200, 'text/plain; charset=utf-8'],
  ['text/*', 200, 'text/plain; charset=utf-8'],
  ['image/png, text/plain;q=0.1', 200, 'text/plain; charset=utf-8'],
  [`text/plain;q=0.5, application/json;${OBJECT}`, 200, `application/json;g=config.k8s.io;v=v1beta1;as=Flagz`],
  [
    'application/json;v=v1alpha1;g=config.k8s.io;as=Flagz',
    200,
    'application/json;g=config.k8s.io;v=v1alpha1;as=Flagz',
    OLD,
  ],
  ['application/json', 406, 'application/json'],
  ['application/yaml', 406, 'application/yaml'],
  ['application/json;v=v1beta1;g=config.k8s.io;as=Statusz', 406, 'application/json'],
  ['application/json;v=v2;g=config.k8s.io;as=Flagz', 406, 'application/json'],
  [`text/plain;${OBJECT}`, 406, 'application/json'],
  ['image/png', 406, 'application/json'],
];

for (const [accept, status, type, warning] of FORMATS) {
  test(`/flagz for "${accept}" is ${status} ${type}`, () => {
    const answer = serveFlagz(FLAGS, ask(accept));
    assert.deepEqual(
      [answer.status, answer.headers?.['content-type'], answer.headers?.['warning']],
      [status, type, warning],
    );
  });
}

test('/flagz is indented for people', () => {
  const accept = `application/json;${OBJECT}`;
  const pretty = [
    serveFlagz(FLAGS, ask(accept, 'pretty=1')),
    serveFlagz(FLAGS, ask(`${accept};pretty=1`)),
    serveFlagz(FLAGS, { ...ask(), headers: { accept, 'user-agent': 'curl/8' } }),
  ];
  for (const { body } of pretty) assert.match(String(body), /^\{\n {2}"kind"/);
  assert.match(String(serveFlagz(FLAGS, ask(accept)).body), /^\{"kind"/);
});
