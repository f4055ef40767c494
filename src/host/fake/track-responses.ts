import type { HttpHandler, ServerResponse } from '../network.ts';

/** The same handler, and when all that it was asked for is answered to the end. */
export function trackResponses(handler: HttpHandler): { readonly http: HttpHandler; idle(): Promise<void> } {
  const answering = new Set<Promise<void>>();
  return {
    async http(request) {
      const done = Promise.withResolvers<void>();
      const sent = done.promise.then(() => void answering.delete(sent));
      answering.add(sent);
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
      while (answering.size > 0) await Promise.all(answering);
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
