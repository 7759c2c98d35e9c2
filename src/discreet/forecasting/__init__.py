"""Forecasts: how many people a question takes, before anybody is asked."""

from discreet.forecasting.forecast import Forecast, Outlook, forecast

__all__ = ["Forecast", "Outlook", "forecast"]
