/**
 * Owns which parts of the SDK are loaded: its base client, its errors, its reading of event streams. The classes for every
 * other resource of the API are nine tenths of it, and each start would pay for them.
 */
export { APIConnectionTimeoutError, APIError, BaseAnthropic } from "@anthropic-ai/sdk"
export { Stream } from "@anthropic-ai/sdk/core/streaming"
