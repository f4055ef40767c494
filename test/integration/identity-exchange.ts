import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ControlPlane } from './cluster-fixture.ts';

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';

/** The body that a credential provider sends: its request. */
interface ProviderRequest {
  readonly image: string;
  readonly serviceAccountToken?: string;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

/** A client as the API server authenticates its token; an empty user has none. */
export interface ExchangeClient {
  readonly user: string;
  readonly pod: string;
  readonly image: string;
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

/** Returns credentials for a valid cluster token, as cloud services do. */
export interface IdentityExchange {
  readonly url: string;
  /** All clients so far, in order. */
  readonly visitors: readonly ExchangeClient[];
  stop(): Promise<void>;
}

export interface ExchangeTerms {
  /** The required audience of tokens. */
  readonly audience: string;
  readonly isWelcome: (visitor: ExchangeClient) => boolean;
  readonly login: { readonly username: string; readonly password: string };
}

export async function startExchange(plane: ControlPlane, terms: ExchangeTerms): Promise<IdentityExchange> {
  const visitors: ExchangeClient[] = [];
  const answer = async (incoming: IncomingMessage): Promise<string | undefined> => {
    const request: ProviderRequest = JSON.parse(await text(incoming));
    const visitor = await visitorOf(request, terms.audience, plane);
    visitors.push(visitor);
    return terms.isWelcome(visitor) ? JSON.stringify(terms.login) : undefined;
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming).then(
      (login) => outgoing.writeHead(login === undefined ? 403 : 200).end(login),
      (error: unknown) => outgoing.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // the server listens on TCP
  return {
    url: `http://127.0.0.1:${port}/`,
    visitors,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function visitorOf(request: ProviderRequest, audience: string, plane: ControlPlane): Promise<ExchangeClient> {
  const { image, serviceAccountToken: token, serviceAccountAnnotations: annotations } = request;
  if (token === undefined) return { user: '', pod: '', image, annotations };
  const review = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  };
  const kubectl = plane.startKubectl(['create', '--raw', REVIEWS, '-f', '-']);
  kubectl.stdin.end(JSON.stringify(review));
  const { status } = JSON.parse(await text(kubectl.stdout));
  const { username, extra = {} } = status.user ?? {};
  if (!status.authenticated) throw new Error(`the API server does not know the token: ${status.error}`);
  return { user: username, pod: extra['authentication.kubernetes.io/pod-name']?.[0] ?? '', image, annotations };
}

/** A program that posts its request to the address in its argument and returns the credentials that it gets. */
export function writeProvider(path: string, registry: string): void {
  const program = `#!${process.execPath}
const { text } = require('node:stream/consumers');
async function main() {
  const request = await text(process.stdin);
  const answer = await fetch(process.argv[2], { method: 'POST', body: request });
  if (!answer.ok) throw new Error('no login for this one');
  const { apiVersion } = JSON.parse(request);
  const auth = { ${JSON.stringify(registry)}: await answer.json() };
  console.log(JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Registry', auth }));
}
main();
`;
  writeFileSync(path, program, { mode: 0o755 });
}
