import type { HttpHandler, ServerResponse } from '../network.ts';

/** Wraps a handler; `idle` resolves when all its responses have been sent. */
export function trackResponses(handler: HttpHandler): { readonly http: HttpHandler; idle(): Promise<void> } {
  const pending = new Set<Promise<void>>();
  return {
    async http(request) {
      const done = Promise.withResolvers<void>();
      const sent = done.promise.then(() => void pending.delete(sent));
      pending.add(sent);
      request.signal.addEventListener('abort', () => done.resolve(), { once: true });
      try {
        const response = await handler(request);
        return { ...response, body: toTheEnd(response.body, done.resolve) };
      } catch (error) {
        done.resolve();
        throw error;
      }
    },
    async idle() {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

async function* toTheEnd(body: ServerResponse['body'], done: () => void): AsyncGenerator<string | Uint8Array> {
  try {
    if (typeof body === 'string') yield body;
    else yield* body;
  } finally {
    done();
  }
}
