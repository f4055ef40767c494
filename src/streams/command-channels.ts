/** How the streams of exec and attach are told apart in a WebSocket: by the first byte of each message. */
export const CHANNEL = {
  stdin: 0,
  stdout: 1,
  stderr: 2,
  error: 3,
  resize: 4,
  /** Names the channel that ends; from v5 on. */
  end: 255,
} as const;
