import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOGIN, makeCertificate, type TokenIssuer } from './registry-fixture.ts';

/** Issues tokens for `LOGIN`, as the authorization server of a registry. */
export interface TokenServer extends TokenIssuer {
  /** The requested scopes, and whether they were granted. */
  readonly asked: readonly string[];
  stop(): Promise<void>;
}

const SERVICE = 'test-registry';
const ISSUER = 'test-issuer';

export async function startTokenServer(): Promise<TokenServer> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-tokens-'));
  const certificateFile = makeCertificate(folder);
  const asked: string[] = [];
  const basic = `Basic ${Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64')}`;
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const scope = searchParams.get('scope') ?? '';
    const isGranted = request.headers.authorization === basic && searchParams.get('service') === SERVICE;
    asked.push(`${scope} ${isGranted ? 'granted' : 'rejected'}`);
    if (!isGranted)
      return response.writeHead(401).end(JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message: 'who?' }] }));
    return response.end(JSON.stringify({ token: tokenFor(scope, folder) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // the server listens on TCP
  return {
    realm: `http://127.0.0.1:${port}/token`,
    service: SERVICE,
    issuer: ISSUER,
    certificateFile,
    asked,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A JSON Web Token as docker-registry accepts it. */
function tokenFor(scope: string, folder: string): string {
  const [type = '', name = '', actions = ''] = scope.split(':');
  const der = readFileSync(join(folder, 'cert.pem'), 'utf8').replace(/-----[^-]+-----|\s/g, '');
  const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: ISSUER,
    sub: LOGIN.username,
    aud: SERVICE,
    exp: now + 300,
    nbf: now - 10,
    iat: now,
    jti: randomUUID(),
    access: [{ type, name, actions: actions.split(',') }],
  };
  const text = `${encoded({ typ: 'JWT', alg: 'ES256', x5c: [der] })}.${encoded(claims)}`;
  const key = createPrivateKey(readFileSync(join(folder, 'key.pem')));
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}
