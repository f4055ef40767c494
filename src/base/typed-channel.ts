import { channel } from 'node:diagnostics_channel';

/** A diagnostics channel of this process with messages of one type. */
export interface TypedChannel<T extends object> {
  /** Calls the subscribers. Without any it costs one comparison. */
  publish(message: T): void;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (message: T) => void): () => void;
}

/**
 * What a component publishes of its work, for metrics. The component does not know its subscribers, and their errors do not
 * reach it. Channels, like metrics, are those of the process: two agents in one process share them.
 */
export function typedChannel<T extends object>(name: string): TypedChannel<T> {
  const untyped = channel(name);
  return {
    publish(message) {
      if (untyped.hasSubscribers) untyped.publish(message);
    },
    subscribe(listener) {
      const onMessage = (message: unknown): void => listener(message as T); // only `publish` above writes to it
      untyped.subscribe(onMessage);
      return () => untyped.unsubscribe(onMessage);
    },
  };
}
