/** HTTPS as probes need it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { linuxNetwork } from '../../../src/host/linux/linux-network.ts';
import { temporaryFolder } from './temporary-folder.ts';

const OPENSSL = '/usr/bin/openssl';
const skip = existsSync(OPENSSL) ? false : `there is no ${OPENSSL} to make a certificate with`;

test('linux network: a self-signed certificate is rejected, unless verification is skipped', {
  skip,
}, async (t) => {
  const folder = await temporaryFolder(t);
  const [keyFile, certFile] = [`${folder}/key.pem`, `${folder}/cert.pem`];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const files = ['-keyout', keyFile, '-out', certFile];
  await promisify(execFile)(OPENSSL, ['req', '-x509', ...curve, '-nodes', ...files, '-subj', '/CN=test', '-days', '1']);

  const server = createServer({ key: await readFile(keyFile), cert: await readFile(certFile) }, (_, response) => {
    response.end('private');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const request = { target: { host: '127.0.0.1', port }, method: 'GET', path: '/', scheme: 'https' } as const;
  const signal = new AbortController().signal;

  await assert.rejects(linuxNetwork.request(request, signal), {
    name: 'NetworkError',
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
  const headers = [['Host', 'example.test']] as const;
  const response = await linuxNetwork.request({ ...request, headers, insecureSkipVerify: true }, signal);
  let body = '';
  for await (const chunk of response.body) body += new TextDecoder().decode(chunk);
  assert.deepEqual([response.status, body], [200, 'private']);
});
