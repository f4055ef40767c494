import type { RateLimit } from '../../base/token-bucket.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { collectionPath, objectPath, queryString, tokenPath } from './api-paths.ts';
import type { ApiReviews } from './api-reviews.ts';
import type { ApiObjects, ApiServer, Resource } from './api-server.ts';
import type { ClientConfig } from './client-config.ts';
import type { Credentials } from './credentials.ts';
import { type ApiCall, HttpCalls } from './http-calls.ts';
import { listAll } from './http-list.ts';
import { createReviews } from './http-reviews.ts';
import { watchObjects } from './http-watch.ts';
import { RequestRateLimiter } from './request-rate.ts';
import { type ConnectionDeps, ServerConnections } from './server-connections.ts';
import { asObject, decodeObject, requireString } from './wire-objects.ts';

export interface HttpApiDeps {
  readonly network: ConnectionDeps['network'];
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: Credentials;
  /** The limit of all requests but watches. */
  readonly rate: RateLimit;
  readonly userAgent: string;
}

export interface HttpApiServer extends ApiServer, ApiReviews, Disposable {
  /** The same server over the same connections, for requests with a separate rate limit. */
  atRate(rate: RateLimit): ApiServer;
}

/**
 * A real API server over HTTP/2 (or HTTP/1.1 if it supports nothing else) with JSON. The first call makes the first
 * connection. Errors never contain request or response bodies, except the message of a `Status`.
 */
export function createHttpApiServer({ cluster }: ClientConfig, deps: HttpApiDeps): HttpApiServer {
  const connections = new ServerConnections(cluster, deps);
  const callsAt = (limit: RateLimit): HttpCalls =>
    new HttpCalls({ ...deps, server: cluster.server, connections, rate: new RequestRateLimiter(limit, deps.clock) });
  const calls = callsAt(deps.rate);
  return {
    ...objectCalls(calls, deps),
    ...createReviews(calls),
    atRate: (rate) => objectCalls(callsAt(rate), deps),
    [Symbol.dispose]: () => connections[Symbol.dispose](),
  };
}

function objectCalls(calls: HttpCalls, { random }: Pick<HttpApiDeps, 'random'>): ApiServer {
  const ask = async <R extends Resource>(resource: R, call: ApiCall, signal: AbortSignal): Promise<ApiObjects[R]> =>
    decodeObject(resource, await calls.call(call, signal));
  return {
    get: (key, signal) => ask(key.resource, { method: 'GET', path: objectPath(key) }, signal),
    list: (selection, signal) => listAll(selection, calls, signal),
    watch: (selection, signal) => watchObjects(selection, { calls, random }, signal),
    create: (key, object, signal) =>
      ask(key.resource, { method: 'POST', path: collectionPath(key), body: object }, signal),
    update: (key, object, signal) =>
      ask(key.resource, { method: 'PUT', path: objectPath(key), body: object, isRepeatable: true }, signal),
    patch: (key, patch, { subresource }, signal) => {
      const contentType = 'application/strategic-merge-patch+json';
      const path = objectPath(key, subresource);
      return ask(key.resource, { method: 'PATCH', path, body: patch, contentType, isRepeatable: true }, signal);
    },
    async delete(key, { uid, graceSeconds }, signal) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
        ...(uid !== undefined && { preconditions: { uid } }),
      };
      // Without a UID, a repeated request could delete a new object of the same name.
      await calls.call({ method: 'DELETE', path: objectPath(key), body, isRepeatable: uid !== undefined }, signal);
    },
    async deleteCollection(selection, signal) {
      const { fieldSelector } = selection;
      const path = `${collectionPath(selection)}${queryString({ fieldSelector })}`;
      await calls.call({ method: 'DELETE', path, body: { apiVersion: 'v1', kind: 'DeleteOptions' } }, signal);
    },
    async createToken(account, spec, signal) {
      const { uid } = account;
      const header = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' };
      const body = { ...header, ...(uid !== undefined && { metadata: { uid } }), spec };
      const answer = asObject(await calls.call({ method: 'POST', path: tokenPath(account), body }, signal));
      const { token, expirationTimestamp } = asObject(answer['status']);
      return {
        token: requireString('status.token', token),
        expirationTimestamp: requireString('status.expirationTimestamp', expirationTimestamp),
      };
    },
  };
}
