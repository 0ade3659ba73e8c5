// The clients that are checked. Each subscribes to a query through a proxy with
// credentials ({ init, headers }), hands what comes to a sink, and gives a
// function that ends it. Retry says how often, and with which pauses, it comes
// back; without pauses it does as its authors meant it to.
import { ApolloClient, ApolloLink, InMemoryCache, gql } from '@apollo/client'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createWsClient } from 'graphql-ws'
import { SubscriptionClient } from 'subscriptions-transport-ws'
import WebSocket from 'ws'

const paused = retry => retry.pause && { retryWait: () => new Promise(resolve => setTimeout(resolve, retry.pause)), shouldRetry: () => true }

function wsClient (through, who, retry) {
  return createWsClient({
    url: through.ws, webSocketImpl: WebSocket, connectionParams: who.init, retryAttempts: retry.attempts, ...paused(retry)
  })
}

const shown = sink => result => result.errors ? sink.error(new Error(JSON.stringify(result.errors))) : sink.next(result.data)

export const clients = {
  'graphql-ws' (through, who, query, sink, retry) {
    const client = wsClient(through, who, retry)
    client.subscribe({ query }, { next: shown(sink), error: sink.error, complete: sink.complete })
    return () => client.dispose()
  },

  'graphql-sse' (through, who, query, sink, retry) {
    const client = createSseClient({
      url: through.http,
      headers: who.headers,
      retryAttempts: retry.attempts,
      ...(retry.pause && { retry: paused(retry).retryWait })
    })
    client.subscribe({ query }, { next: shown(sink), error: sink.error, complete: sink.complete })
    return () => client.dispose()
  },

  '@apollo/client' (through, who, query, sink, retry) {
    const socket = wsClient(through, who, retry)
    const client = new ApolloClient({ link: ApolloLink.from([new GraphQLWsLink(socket)]), cache: new InMemoryCache() })
    const subscription = client.subscribe({ query: gql(query), fetchPolicy: 'no-cache' }).subscribe({
      next: result => result.error ? sink.error(result.error) : sink.next(result.data),
      error: sink.error,
      complete: sink.complete
    })
    return async () => {
      subscription.unsubscribe()
      client.stop()
      await socket.dispose()
    }
  },

  'subscriptions-transport-ws' (through, who, query, sink, retry) {
    const client = new SubscriptionClient(through.ws, {
      connectionParams: who.init,
      reconnect: retry.attempts > 0,
      reconnectionAttempts: retry.attempts,
      minTimeout: 2000,
      connectionCallback: error => { if (error) sink.error(error) }
    }, WebSocket)
    client.request({ query }).subscribe({ next: shown(sink), error: sink.error, complete: sink.complete })
    return () => client.close()
  }
}

// ask gets the answer to one query or mutation.
export async function ask (url, who, query) {
  const client = wsClient({ ws: url.replace(/^http/, 'ws') }, who, { attempts: 0 })
  const { value } = await client.iterate({ query }).next()
  await client.dispose()
  if (value.errors) throw new Error(`${query}: ${JSON.stringify(value.errors)}`)
  return value.data
}
