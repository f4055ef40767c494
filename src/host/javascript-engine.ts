/** A part of the heap of the JavaScript engine. */
export interface HeapSpace {
  /** The engine's name: `new_space`, `old_space`. */
  readonly name: string;
  readonly usedBytes: number;
  readonly sizeBytes: number;
}

/** How long the event loop of this process has run code, and has waited. */
export interface EventLoopTimes {
  readonly activeMs: number;
  readonly idleMs: number;
}

/** A garbage collection that stopped the process. */
export interface CollectionPause {
  readonly kind: 'minor' | 'major' | 'incremental' | 'weakCallbacks' | 'other';
  readonly tookMs: number;
}

/** The engine that runs this process. */
export interface JavaScriptEngine {
  heapSpaces(): readonly HeapSpace[];
  eventLoopTimes(): EventLoopTimes;
  /** How much later than asked for a timer runs now, in milliseconds. */
  timerLagMs(): Promise<number>;
  /** Calls the listener after each pause, until the returned function is called. */
  observePauses(listener: (pause: CollectionPause) => void): () => void;
}
